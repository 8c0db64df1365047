#include "query/kernels/item_numbers.h"

#include <algorithm>
#include <atomic>

#include "query/columns/parallel.h"
#include "query/columns/range_items.h"
#include "query/kernels/keys.h"

namespace tickstack::query {
namespace {

constexpr size_t kItemsPerRange = size_t{1} << 18;

// Calls f(elements, offset, code_of) for pieces of items [begin, end) of a column, which is read in
// place. code_of(element) is the element's code.
template <typename F>
void EachCode(const Slice& slice, size_t begin, size_t end, F f) {
  if (slice.type() == Type::kSymbol) {
    EachSpan<SymbolId>(slice, begin, end, [&](std::span<const SymbolId> ids, size_t offset) {
      f(ids, offset, [](SymbolId id) { return id < 0 ? 0 : static_cast<size_t>(id) + 1; });
    });
  } else {
    EachSpan<uint8_t>(slice, begin, end, [&](std::span<const uint8_t> bytes, size_t offset) {
      f(bytes, offset, [](uint8_t byte) { return size_t{byte}; });
    });
  }
}

}  // namespace

absl::StatusOr<ItemNumbers> ItemNumbers::Of(const Slice& slice, Budget& budget) {
  ItemNumbers numbers(slice);
  const bool symbols = slice.type() == Type::kSymbol && slice.column.has_ids();
  if (slice.rows->is_range() && slice.column.direct() && (symbols || WidthOf(slice.type()) == 1)) {
    const size_t codes =
        symbols ? static_cast<size_t>(slice.column.symbols().size()) + 1 : size_t{256};
    TS_RETURN_IF_ERROR(budget.Charge(codes, sizeof(uint32_t) + 1));
    TS_RETURN_IF_ERROR(numbers.FindUsed(codes, budget));
    return numbers;
  }
  KeyNumbers keys(1);
  TS_ASSIGN_OR_RETURN(numbers.hashed_, keys.Number(std::span(&slice, 1), budget));
  numbers.distinct_ = keys.size();
  return numbers;
}

// Flags the codes that occur, by several threads. Relaxed order is enough: flags are only set, and
// are read after all threads are done.
absl::Status ItemNumbers::FindUsed(size_t codes, const Budget& budget) {
  ScratchVector<std::atomic<uint8_t>> used(codes);
  const auto find = [&](size_t begin, size_t end) -> absl::Status {
    const size_t first_row = slice_.rows->begin_row();
    TS_RETURN_IF_ERROR(slice_.column.Verify(first_row + begin, first_row + end));
    EachCode(slice_, begin, end, [&](auto elements, size_t, auto code_of) {
      for (const auto element : elements) {
        std::atomic<uint8_t>& flag = used[code_of(element)];
        // Reads first, so that threads do not take the cache line from each other all the time.
        if (flag.load(std::memory_order_relaxed) == 0) {
          flag.store(1, std::memory_order_relaxed);
        }
      }
    });
    return absl::OkStatus();
  };
  TS_RETURN_IF_ERROR(ParallelRanges(budget, slice_.count(), kItemsPerRange, find));
  number_of_.resize(codes);
  for (size_t code = 0; code < codes; ++code) {
    if (used[code].load(std::memory_order_relaxed) != 0) {
      number_of_[code] = static_cast<uint32_t>(distinct_++);
    }
  }
  return absl::OkStatus();
}

void ItemNumbers::Read(size_t begin, std::span<uint32_t> out) const {
  if (number_of_.empty()) {
    std::copy_n(hashed_.begin() + static_cast<ptrdiff_t>(begin), out.size(), out.begin());
    return;
  }
  EachCode(slice_, begin, begin + out.size(), [&](auto elements, size_t offset, auto code_of) {
    for (size_t i = 0; i < elements.size(); ++i) out[offset + i] = number_of_[code_of(elements[i])];
  });
}

}  // namespace tickstack::query
