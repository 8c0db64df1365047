#include "table/symbol_index.h"

#include <algorithm>
#include <new>
#include <ranges>

#include "base/check.h"
#include "base/status.h"
#include "base/time.h"
#include "mem/medium.h"

namespace tickstack {
namespace {

constexpr size_t kFirstBlockBytes = 512;
// How many rows ahead a row's header and tail are fetched: symbols of consecutive rows are
// unrelated, so each of these is a cache miss.
constexpr size_t kAhead = 12;

}  // namespace

// Asks for the exact time only of postings that have the same coarse time as `ns`.
size_t PostingTimes::EndOfTies(const PostingRun& run, size_t begin, size_t end, int64_t ns) const {
  const auto coarse = run.coarse.subspan(begin, end - begin);
  const auto ties = std::ranges::lower_bound(coarse, CoarseOf(ns));
  begin += static_cast<size_t>(ties - coarse.begin());
  return *std::ranges::partition_point(std::views::iota(begin, end),
                                       [&](size_t i) { return ExactNs(run.rows[i]) <= ns; });
}

size_t PostingTimes::CountAtOrBefore(const PostingRun& run, int64_t ns) const {
  mem::MediumAccess access(run.medium);
  const auto end = std::ranges::upper_bound(run.coarse, CoarseOf(ns));
  access.Searched(run.coarse.size_bytes());
  return EndOfExact(run, 0, static_cast<size_t>(end - run.coarse.begin()), ns);
}

size_t PostingTimes::CountBefore(const PostingRun& run, int64_t ns) const {
  return ns == INT64_MIN ? 0 : CountAtOrBefore(run, ns - 1);
}

SymbolIndex::SymbolIndex(mem::Tier* tier, const Column* times)
    : tier_(tier),
      times_(times),
      base_ns_(times != nullptr && times->type() == Type::kTimespan ? 0 : PostingTimes::kNoBase) {
  if (mem::PersistentTier* const persistent = tier->persistent()) MakeDurable(persistent);
}

size_t SymbolIndex::BlockBytes(size_t number) {
  return kFirstBlockBytes << std::min(number / kBlocksPerSize, kDoublings);
}

uint32_t SymbolIndex::CapacityOf(size_t number) const {
  const size_t posting_bytes = sizeof(uint32_t) * (times_ == nullptr ? 1 : 2);
  return static_cast<uint32_t>((BlockBytes(number) - sizeof(Block)) / posting_bytes);
}

SymbolIndex::~SymbolIndex() {
  for (size_t i = 0; i < list_count_.load(std::memory_order_relaxed); ++i) {
    size_t number = 0;
    for (Block* block = lists_[i].first; block != nullptr; ++number) {
      Block* const next = NextOf(block);
      tier_->Free(reinterpret_cast<std::byte*>(block), BlockBytes(number));
      block = next;
    }
  }
}

absl::Status SymbolIndex::AddBlock(size_t slot, List& list) {
  const size_t bytes = BlockBytes(list.blocks);
  TS_ASSIGN_OR_RETURN(std::byte * memory, tier_->Allocate(bytes));
  auto* const block = new (memory) Block{0};
  if (durable_ != nullptr) {
    if (const absl::Status noted = NoteBlock(slot, block); !noted.ok()) {
      tier_->Free(memory, bytes);
      return noted;
    }
  }
  bytes_.fetch_add(mem::Tier::RoundedBytes(bytes), std::memory_order_relaxed);
  list.room += CapacityOf(list.blocks);
  if (list.last == nullptr) {
    list.first = list.tail = block;
    list.tail_capacity = CapacityOf(0);
  } else {
    SetNext(list.last, block);
  }
  list.last = block;
  if (list.blocks < kGrowingBlocks) ++list.blocks;
  return absl::OkStatus();
}

absl::Status SymbolIndex::Reserve(std::span<const SymbolId> ids) {
  size_t lists = list_count_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size()) {
      const size_t ahead = SlotOf(ids[i + kAhead]);
      if (ahead < lists) __builtin_prefetch(&lists_[ahead], 1);
    }
    const size_t slot = SlotOf(ids[i]);
    if (slot >= lists) [[unlikely]] {
      lists_.Reserve(slot + 1);
      lists = slot + 1;
      list_count_.store(lists, std::memory_order_release);  // Pairs with Find.
    }
    List& list = lists_[slot];
    if (++list.pending > list.room) [[unlikely]]
      TS_RETURN_IF_ERROR(AddBlock(slot, list));
  }
  return absl::OkStatus();
}

void SymbolIndex::Cancel(std::span<const SymbolId> ids) {
  const size_t lists = list_count_.load(std::memory_order_relaxed);
  for (const SymbolId id : ids) {
    if (SlotOf(id) < lists) lists_[SlotOf(id)].pending = 0;
  }
}

void SymbolIndex::NextTail(List& list) {
  list.tail = NextOf(list.tail);
  TS_CHECK(list.tail != nullptr);
  if (list.tail_number < kGrowingBlocks) ++list.tail_number;
  list.tail_capacity = CapacityOf(list.tail_number);
  list.tail_used = 0;
}

// Chooses the base from the first times. A null says nothing about the day, and its coarse time is
// 0 with and without a base. Any other time must choose, because its coarse time must be on the
// clock that readers will have.
void SymbolIndex::ChooseBase(std::span<const int64_t> time_ns) {
  const auto first = std::ranges::find_if(time_ns, [](int64_t ns) { return ns != kNullLong; });
  if (first == time_ns.end()) return;
  const int64_t ns = std::max(*first, kNullLong + kNsPerDay);  // There is a midnight before it.
  base_ns_.store(ns - (ns % kNsPerDay + kNsPerDay) % kNsPerDay, std::memory_order_relaxed);
}

void SymbolIndex::Append(std::span<const SymbolId> ids, const int64_t* time_ns,
                         uint32_t first_row) {
  if (times_ != nullptr && base_ns_.load(std::memory_order_relaxed) == PostingTimes::kNoBase)
      [[unlikely]] {
    ChooseBase({time_ns, ids.size()});
  }
  const PostingTimes times(times_, base_ns_.load(std::memory_order_relaxed));
  mem::MediumAccess access(tier_->medium());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size()) {
      const List& ahead = lists_[SlotOf(ids[i + kAhead])];
      __builtin_prefetch(RowsOf(ahead.tail, ahead.tail_capacity) + ahead.tail_used, 1);
      __builtin_prefetch(CoarseOf(ahead.tail) + ahead.tail_used, 1);
    }
    List& list = lists_[SlotOf(ids[i])];
    TS_DCHECK(list.pending > 0);
    if (list.tail_used == list.tail_capacity) [[unlikely]]
      NextTail(list);
    const uint32_t row = first_row + static_cast<uint32_t>(i);
    RowsOf(list.tail, list.tail_capacity)[list.tail_used] = row;
    if (times_ != nullptr) {
      const int64_t ns = time_ns[i];
      CoarseOf(list.tail)[list.tail_used] = times.CoarseOf(ns);
      if (ns < list.last_ns) [[unlikely]]
        list.unsorted.store(true, std::memory_order_relaxed);
      list.last_ns = ns;
    }
    ++list.tail_used;
    --list.room;
    --list.pending;
    const uint32_t count = list.count.load(std::memory_order_relaxed);
    if (count == 0) [[unlikely]]
      list.first_row = row;
    list.last_row.store(row, std::memory_order_relaxed);
    list.count.store(count + 1, std::memory_order_release);  // Pairs with Find.
  }
  access.WroteScattered(ids.size() * sizeof(uint32_t) * (times_ == nullptr ? 1 : 2));
}

Postings SymbolIndex::Find(SymbolId symbol, size_t end_row) const {
  Postings postings;
  const size_t slot = SlotOf(symbol);
  if (slot >= list_count_.load(std::memory_order_acquire)) return postings;
  const List& list = lists_[slot];
  size_t left = list.count.load(std::memory_order_acquire);
  Block* block = left > 0 ? list.first : nullptr;
  mem::MediumAccess access(tier_->medium());
  size_t number = 0;
  for (; left > 0; ++number) {
    const uint32_t capacity = CapacityOf(number);
    const size_t used = std::min<size_t>(left, capacity);
    std::span<const uint32_t> rows(RowsOf(block, capacity), used);
    if (rows.back() >= end_row) {
      rows = rows.first(
          static_cast<size_t>(std::lower_bound(rows.begin(), rows.end(), end_row) - rows.begin()));
      left = used;  // The other postings are younger still.
    }
    if (!rows.empty()) {
      const size_t times = times_ == nullptr ? 0 : rows.size();
      postings.runs.push_back({rows, {CoarseOf(block), times}, tier_->medium()});
      postings.rows += rows.size();
    }
    left -= used;
    if (left > 0) block = NextOf(block);
  }
  // Follows in each block the link to the next one, or reads the last row.
  access.ReadChained(number);
  // Read after the count: the base was chosen before any posting that is followed, and this flag
  // was set before if times went down.
  if (times_ != nullptr) postings.times.emplace(times_, base_ns_.load(std::memory_order_relaxed));
  postings.time_sorted = !list.unsorted.load(std::memory_order_relaxed);
  return postings;
}

PostingEnds SymbolIndex::EndsOf(SymbolId symbol, size_t end_row) const {
  const size_t slot = SlotOf(symbol);
  if (slot >= list_count_.load(std::memory_order_acquire)) return {};
  const List& list = lists_[slot];
  const uint32_t count = list.count.load(std::memory_order_acquire);
  if (count == 0 || list.first_row >= end_row) return {};
  // It is the row of the last counted posting, or of a later one. All rows of the snapshot were
  // counted before; if this is one of them, no posting comes after it.
  const uint32_t last_row = list.last_row.load(std::memory_order_relaxed);
  if (last_row < end_row) return {count, list.first_row, last_row};
  const Postings postings = Find(symbol, end_row);
  return {static_cast<uint32_t>(postings.rows), list.first_row, postings.runs.back().rows.back()};
}

}  // namespace tickstack
