// The index in a persistent tier: what SymbolIndex::Save makes durable, and how Load finds it.
//
// Postings are scattered over the blocks of thousands of symbols, so making those of each batch
// durable would cost a flush per row. They are made durable at checkpoints instead, when a symbol's
// new postings lie together, and the rows since the last checkpoint are put into the index again
// when it is loaded: their symbols and times are in the columns.
//
//   entry of a symbol   | link of the first block | link of the tail | count | unsorted |
//
// A checkpoint flushes the postings that came since the last one, writes the entries of all symbols
// to one of two places in turn, and is taken over by the root that names its place. Postings behind
// an entry's count are written over.

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "table/symbol_index.h"

namespace tickstack {
namespace {

// Rows between two checkpoints: so many are put into the index again after a restart, at 50 ns or
// so. Where a flush is an msync, a checkpoint writes a page for nearly every symbol.
constexpr size_t kCheckpointRows = size_t{1} << 17;
constexpr size_t kCheckpointRowsMsync = size_t{1} << 20;

constexpr size_t kPlaceSymbolsMin = 1024;

struct Entry {
  uint64_t first;
  uint64_t tail;
  uint32_t count;
  uint32_t unsorted;
};

}  // namespace

// What only an index in a persistent tier needs.
struct SymbolIndex::Durable {
  explicit Durable(mem::PersistentTier* of)
      : tier(of),
        checkpoint_rows(of->CommitStats().msync ? kCheckpointRowsMsync : kCheckpointRows) {}
  ~Durable() {
    for (const Place& place : places) {
      if (place.memory != nullptr) tier->Free(place.memory, place.bytes);
    }
  }

  // How far a symbol's postings are flushed.
  struct Cursor {
    Block* block = nullptr;
    size_t number = 0;
    uint32_t used = 0;
    uint32_t count = 0;
  };
  struct Place {
    std::byte* memory = nullptr;
    size_t bytes = 0;
  };

  mem::PersistentTier* const tier;
  const size_t checkpoint_rows;
  std::vector<Cursor> cursors;  // By SlotOf.
  Place places[2];
  int current = 0;
  // The last checkpoint.
  size_t rows = 0;
  size_t lists = 0;
  uint32_t crc = 0;
};

void SymbolIndex::DurableDeleter::operator()(Durable* durable) const { delete durable; }

void SymbolIndex::MakeDurable(mem::PersistentTier* tier) {
  durable_.reset(new Durable(tier));
  // No link is 0, which says that there is none.
  link_base_ = reinterpret_cast<uintptr_t>(tier->base()) - mem::Tier::kSmallestBytes;
}

void SymbolIndex::FlushPostings(size_t slot) {
  const List& list = lists_[slot];
  const uint32_t count = list.count.load(std::memory_order_relaxed);
  Durable::Cursor& cursor = durable_->cursors[slot];
  if (count == cursor.count) return;
  if (cursor.block == nullptr) cursor.block = list.first;
  while (true) {
    const bool is_tail = cursor.block == list.tail;
    const uint32_t capacity = CapacityOf(cursor.number);
    const uint32_t end = is_tail ? list.tail_used : capacity;
    const size_t bytes = (end - cursor.used) * sizeof(uint32_t);
    const auto flush = [&](const uint32_t* from) {
      durable_->tier->Flush(reinterpret_cast<const std::byte*>(from + cursor.used), bytes);
    };
    if (times_ != nullptr) flush(CoarseOf(cursor.block));
    flush(RowsOf(cursor.block, capacity));
    cursor.used = end;
    if (is_tail) break;
    durable_->tier->Flush(reinterpret_cast<const std::byte*>(cursor.block), sizeof(Block));
    cursor.block = NextOf(cursor.block);
    ++cursor.number;
    cursor.used = 0;
  }
  cursor.count = count;
}

// Room for the entries of `lists` symbols at both places, with as much again to grow into: a
// checkpoint is wanted most when the tier is full.
absl::Status SymbolIndex::ReservePlaces(size_t lists) {
  for (Durable::Place& place : durable_->places) {
    if (lists * sizeof(Entry) <= place.bytes) continue;
    const size_t bytes = std::max(lists * 2, kPlaceSymbolsMin) * sizeof(Entry);
    TS_ASSIGN_OR_RETURN(std::byte * memory, tier_->Allocate(bytes));
    // The current one holds the entries that the next root, too, may tell of.
    if (place.memory != nullptr) {
      std::memcpy(memory, place.memory, place.bytes);
      durable_->tier->Flush(memory, place.bytes);
      tier_->Free(place.memory, place.bytes);
    }
    place = {memory, mem::Tier::RoundedBytes(bytes)};
  }
  return absl::OkStatus();
}

absl::Status SymbolIndex::Checkpoint(size_t rows) {
  const size_t lists = list_count_.load(std::memory_order_relaxed);
  Durable::Place& place = durable_->places[1 - durable_->current];
  const size_t bytes = lists * sizeof(Entry);
  if (bytes > place.bytes) return ResourceExhausted("{} symbols", lists);
  durable_->cursors.resize(lists);
  auto* const entries = reinterpret_cast<Entry*>(place.memory);
  for (size_t slot = 0; slot < lists; ++slot) {
    FlushPostings(slot);
    const List& list = lists_[slot];
    const uint32_t count = list.count.load(std::memory_order_relaxed);
    const bool any = count > 0;
    entries[slot] = {any ? LinkOf(list.first) : 0, any ? LinkOf(list.tail) : 0, count,
                     list.unsorted.load(std::memory_order_relaxed) ? 1u : 0u};
  }
  durable_->tier->Flush(place.memory, bytes);
  durable_->current = 1 - durable_->current;
  durable_->rows = rows;
  durable_->lists = lists;
  durable_->crc = Crc32c({place.memory, bytes});
  return absl::OkStatus();
}

void SymbolIndex::Save(ByteBuffer& root, size_t rows, bool whole) {
  const size_t since = rows - durable_->rows;
  // A tier without room for the entries keeps the older checkpoint: loading takes longer then.
  ReservePlaces(list_count_.load(std::memory_order_relaxed)).IgnoreError();
  if (since >= durable_->checkpoint_rows || (whole && since > 0)) {
    Checkpoint(rows).IgnoreError();
  }
  for (const Durable::Place& place : durable_->places) {
    root.AppendLittle(place.memory == nullptr ? uint64_t{0}
                                              : durable_->tier->OffsetOf(place.memory));
    root.AppendLittle(uint64_t{place.bytes});
  }
  root.AppendLittle(static_cast<uint8_t>(durable_->current));
  root.AppendLittle(uint64_t{durable_->rows});
  root.AppendLittle(uint64_t{durable_->lists});
  root.AppendLittle(durable_->crc);
  root.AppendLittle(base_ns_.load(std::memory_order_relaxed));
}

absl::StatusOr<size_t> SymbolIndex::Load(RecordReader& root, size_t end_row) {
  const absl::Status cut_short = DataLoss("index: the record is cut short");
  for (Durable::Place& place : durable_->places) {
    uint64_t offset = 0, bytes = 0;
    if (!root.Read(&offset) || !root.Read(&bytes)) return cut_short;
    if (bytes == 0) continue;
    TS_ASSIGN_OR_RETURN(std::byte * memory, durable_->tier->Find(offset, bytes));
    place = {memory, bytes};
  }
  uint64_t rows = 0, lists = 0;
  uint8_t current = 0;
  uint32_t crc = 0;
  int64_t base_ns = 0;
  if (!root.Read(&current) || !root.Read(&rows) || !root.Read(&lists) || !root.Read(&crc) ||
      !root.Read(&base_ns)) {
    return cut_short;
  }
  durable_->current = current & 1;
  const Durable::Place& place = durable_->places[durable_->current];
  if (rows > end_row || lists > place.bytes / sizeof(Entry)) {
    return DataLoss("index: {} rows and {} symbols, the table has {} rows and {} bytes of entries",
                    rows, lists, end_row, place.bytes);
  }
  base_ns_.store(base_ns, std::memory_order_relaxed);
  if (lists == 0) return rows;
  const std::byte* const memory = place.memory;
  const size_t bytes = lists * sizeof(Entry);
  if (Crc32c({memory, bytes}) != crc)
    return DataLoss("index: the checksum of its entries disagrees");
  lists_.Reserve(lists);
  durable_->cursors.resize(lists);
  for (size_t slot = 0; slot < lists; ++slot) {
    Entry entry{};
    std::memcpy(&entry, memory + slot * sizeof(Entry), sizeof(entry));
    if (entry.count == 0) continue;
    TS_RETURN_IF_ERROR(LoadList(slot, entry.first, entry.tail, entry.count, rows));
    lists_[slot].unsorted.store(entry.unsorted != 0, std::memory_order_relaxed);
  }
  durable_->rows = rows;
  durable_->lists = lists;
  durable_->crc = crc;
  list_count_.store(lists, std::memory_order_release);
  return rows;
}

absl::Status SymbolIndex::LoadList(size_t slot, uint64_t first, uint64_t tail, uint32_t count,
                                   size_t end_row) {
  List& list = lists_[slot];
  size_t number = 0, bytes = BlockBytes(0);
  uint32_t left = count;
  for (; left > CapacityOf(number); ++number) {
    left -= CapacityOf(number);
    bytes += BlockBytes(number + 1);
  }
  const auto find = [&](uint64_t link, size_t block_bytes) {
    return durable_->tier->Find(link - mem::Tier::kSmallestBytes, block_bytes);
  };
  TS_ASSIGN_OR_RETURN(std::byte * first_memory, find(first, BlockBytes(0)));
  TS_ASSIGN_OR_RETURN(std::byte * tail_memory, find(tail, BlockBytes(number)));
  list.first = reinterpret_cast<Block*>(first_memory);
  list.tail = list.last = reinterpret_cast<Block*>(tail_memory);
  // What was linked behind it was never committed.
  SetNext(list.tail, nullptr);
  list.blocks = static_cast<uint8_t>(std::min(number + 1, kGrowingBlocks));
  list.tail_number = static_cast<uint8_t>(std::min(number, kGrowingBlocks));
  list.tail_capacity = CapacityOf(number);
  list.tail_used = left;
  list.room = list.tail_capacity - left;
  const uint32_t last_row = RowsOf(list.tail, list.tail_capacity)[left - 1];
  if (last_row >= end_row) {
    return DataLoss("index: symbol {} ends at row {}, it was saved for {}", slot, last_row,
                    end_row);
  }
  if (times_ != nullptr) list.last_ns = PostingTimes(times_, 0).ExactNs(last_row);
  list.count.store(count, std::memory_order_relaxed);
  durable_->cursors[slot] = {list.tail, number, left, count};
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace tickstack
