#include "query/kernels/keys.h"

#include <array>

#include "base/byte_buffer.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "table/codec.h"

namespace tickstack::query {
namespace {

absl::StatusOr<ScratchVector<uint32_t>> NumberIdSymbols(const Slice& slice,
                                                        KeyTable<std::string_view>& names,
                                                        Budget& budget) {
  constexpr uint32_t kUnknown = UINT32_MAX;
  const SymbolTable& symbols = slice.column.symbols();
  // Indexed by symbol number plus one. Symbols that are added after this line are in no row of the
  // snapshot.
  ScratchVector<uint32_t> known(static_cast<size_t>(symbols.size()) + 1, kUnknown);
  ScratchVector<uint32_t> numbers;
  numbers.reserve(slice.count());
  TS_RETURN_IF_ERROR(ForEachBlock<SymbolId>(slice, budget, [&](const Block<SymbolId>& block) {
    for (SymbolId id : block.elements) {
      uint32_t& number = known[id < 0 ? 0 : static_cast<size_t>(id) + 1];
      if (number == kUnknown) number = names.NumberOf(symbols.NameOf(id));
      numbers.push_back(number);
    }
  }));
  return numbers;
}

}  // namespace

// Equal items have equal encodings, but for attributes, which are left out.
absl::StatusOr<ScratchVector<uint32_t>> KeyNumbers::NumberNested(const Slice& slice,
                                                                 PerColumn& known, Budget& budget) {
  constexpr size_t kStringBytes = 64;  // That keeping one takes in addition to its text.
  TS_ASSIGN_OR_RETURN(const Value items, Materialise(slice, budget));
  ScratchVector<uint32_t> numbers;
  numbers.reserve(items.count());
  ByteBuffer encoding;
  for (size_t i = 0; i < items.count(); ++i) {
    if (i % 1024 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    Value item = ItemAt(items, i);
    if (item.is_vector()) item.set_attribute(Attribute::kNone);
    TS_RETURN_IF_ERROR(EncodedBytes(item).status());
    encoding.clear();
    Encode(item, encoding);
    std::string_view text = AsText(encoding.span());
    if (!known.names.Contains(text)) {
      TS_RETURN_IF_ERROR(budget.Charge(text.size() + kStringBytes));
      text = known.encodings.emplace_back(text);
    }
    numbers.push_back(known.names.NumberOf(text));
  }
  return numbers;
}

absl::StatusOr<ScratchVector<uint32_t>> KeyNumbers::NumberColumn(const Slice& slice,
                                                                 PerColumn& known, Budget& budget) {
  if (known.used && known.type != slice.type()) {
    return TypeError("key columns of {} and {}", NameOf(known.type), NameOf(slice.type()));
  }
  known.used = true;
  known.type = slice.type();
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(uint32_t)));
  if (slice.type() == Type::kSymbol) {
    if (slice.column.has_ids()) return NumberIdSymbols(slice, known.names, budget);
    ScratchVector<uint32_t> numbers;
    numbers.reserve(slice.count());
    for (uint32_t row : slice.rows->ToVector()) {
      numbers.push_back(known.names.NumberOf(slice.column.SymbolAt(row)));
    }
    return numbers;
  }
  if (!IsFixedWidth(slice.type())) return NumberNested(slice, known, budget);
  return VisitElementType(
      slice.type(),
      [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<ScratchVector<uint32_t>> {
        ScratchVector<uint32_t> numbers;
        numbers.reserve(slice.count());
        constexpr uint32_t kNone = UINT32_MAX;
        std::array<uint32_t, 256> of_byte;  // The numbers of items that are a byte each.
        of_byte.fill(kNone);
        TS_RETURN_IF_ERROR(ForEachBlock<T>(slice, budget, [&](const Block<T>& block) {
          for (const T& element : block.elements) {
            if constexpr (sizeof(T) == 1) {
              uint32_t& number = of_byte[static_cast<uint8_t>(element)];
              if (number == kNone) number = known.bits.NumberOf(KeyOf(element));
              numbers.push_back(number);
            } else if constexpr (std::is_same_v<T, Guid>) {
              numbers.push_back(known.guids.NumberOf(KeyOf(element)));
            } else {
              numbers.push_back(known.bits.NumberOf(KeyOf(element)));
            }
          }
        }));
        return numbers;
      });
}

absl::StatusOr<ScratchVector<uint32_t>> KeyNumbers::Number(std::span<const Slice> columns,
                                                           Budget& budget) {
  TS_CHECK(columns.size() == columns_.size() && !columns.empty());
  pairs_.resize(columns.size());
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> numbers,
                      NumberColumn(columns[0], columns_[0], budget));
  for (size_t i = 1; i < columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> more,
                        NumberColumn(columns[i], columns_[i], budget));
    if (more.size() != numbers.size()) {
      return LengthError("key columns of {} and {} rows", numbers.size(), more.size());
    }
    for (size_t row = 0; row < numbers.size(); ++row) {
      numbers[row] = pairs_[i].NumberOf(uint64_t{numbers[row]} << 32 | more[row]);
    }
  }
  const size_t last = columns.size() - 1;
  next_ = last > 0 ? pairs_[last].size() : columns_[0].size();
  return numbers;
}

Grouping::Grouping(std::span<const uint32_t> numbers, uint32_t groups)
    : positions_(numbers.size()), ends_(groups, 0) {
  for (uint32_t number : numbers) ++ends_[number];
  size_t begin = 0;
  for (size_t& end : ends_) begin += std::exchange(end, begin);
  // Each group's end is still its begin here; it moves to the end as rows are put in place.
  for (uint32_t i = 0; i < numbers.size(); ++i) positions_[ends_[numbers[i]]++] = i;
}

}  // namespace tickstack::query
