// The index in a persistent tier: SymbolIndex::Save makes it durable, Load finds it again.
//
// Postings are scattered over the blocks of thousands of symbols, so making those of each batch
// durable would cost a flush per row. They are made durable at checkpoints instead, when a symbol's
// new postings lie together, and the rows since the last checkpoint are put into the index again
// when it is loaded: their symbols and times are in the columns.
//
//   entry of a symbol   | count | unsorted |
//
// A checkpoint flushes the postings that came since the last one, writes the entries of all symbols
// to one of two places in turn, and is taken over by the root that names its place. Postings behind
// an entry's count are written over.
//
// Blocks are made durable when they are made: a list has the first one of each symbol, and each has
// the link to its next. So a commit knows of every block that was allocated before it, and a link
// that got to the medium without its commit leads to what the tier does not call an allocation.
//
// Loading follows every link and looks at every row number: what is not damaged by then cannot lead
// a query out of the table. That reads the index once, 8 bytes a row.

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "table/symbol_index.h"

namespace tickstack {
namespace {

// Rows between two checkpoints. A restart indexes at most this many again, at about 50 ns each.
// Where a flush is an msync, a checkpoint writes a page for nearly every symbol.
constexpr size_t kCheckpointRows = size_t{1} << 17;
constexpr size_t kCheckpointRowsMsync = size_t{1} << 20;

constexpr size_t kPlaceSymbolsMin = 1024;

struct Entry {
  uint32_t count;
  uint32_t unsorted;
};

// Packs a symbol's first block into a word of a DurableList: its link in units of 256 bytes behind
// the symbol's slot.
constexpr int kLinkUnitShift = 8;
constexpr int kLinkBits = 36;
constexpr size_t kSlotsMax = size_t{1} << (64 - kLinkBits);

uint64_t FirstWord(size_t slot, uint64_t link) {
  return uint64_t{slot} << kLinkBits | link >> kLinkUnitShift;
}

}  // namespace

// Members that only an index in a persistent tier needs.
struct SymbolIndex::Durable {
  explicit Durable(mem::PersistentTier* of)
      : tier(of),
        firsts(of),
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
  DurableList firsts;  // By order of appearance, see FirstWord.
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
  // No block has link 0, which means that there is none.
  link_base_ = reinterpret_cast<uintptr_t>(tier->base()) - mem::Tier::kSmallestBytes;
}

void SymbolIndex::FlushLink(const Block* block) {
  durable_->tier->Flush(reinterpret_cast<const std::byte*>(block), sizeof(Block));
}

absl::Status SymbolIndex::NoteBlock(size_t slot, const List& list, const Block* block) {
  if (slot >= kSlotsMax) return ResourceExhausted("more than {} symbols", kSlotsMax);
  FlushLink(block);
  return list.last == nullptr ? durable_->firsts.Append(FirstWord(slot, LinkOf(block)))
                              : absl::OkStatus();
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
    cursor.block = NextOf(cursor.block);
    ++cursor.number;
    cursor.used = 0;
  }
  cursor.count = count;
}

// Reserves room for the entries of `lists` symbols at both places, with as much again to grow,
// because a checkpoint is needed most when the tier is full.
absl::Status SymbolIndex::ReservePlaces(size_t lists) {
  for (Durable::Place& place : durable_->places) {
    if (lists * sizeof(Entry) <= place.bytes) continue;
    const size_t bytes = std::max(lists * 2, kPlaceSymbolsMin) * sizeof(Entry);
    TS_ASSIGN_OR_RETURN(std::byte * memory, tier_->Allocate(bytes));
    // The current place holds the entries to which the next root, too, may refer.
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
    entries[slot] = {count, list.unsorted.load(std::memory_order_relaxed) ? 1u : 0u};
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
  // If the tier has no room for the entries, the older checkpoint stays, and loading takes longer.
  ReservePlaces(list_count_.load(std::memory_order_relaxed)).IgnoreError();
  if (since >= durable_->checkpoint_rows || (whole && since > 0)) {
    Checkpoint(rows).IgnoreError();
  }
  durable_->firsts.Save(root);
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
  TS_RETURN_IF_ERROR(LoadFirsts(root));
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
  const size_t bytes = lists * sizeof(Entry);
  if (lists > 0 && Crc32c({place.memory, bytes}) != crc) {
    return DataLoss("index: the checksum of its entries disagrees");
  }
  const size_t slots = std::max<size_t>(lists, lists_.reserved());
  lists_.Reserve(slots);
  durable_->cursors.resize(slots);
  for (size_t slot = 0; slot < slots; ++slot) {
    Entry entry{};
    if (slot < lists) std::memcpy(&entry, place.memory + slot * sizeof(Entry), sizeof(entry));
    TS_RETURN_IF_ERROR(LoadList(slot, entry.count, rows));
    lists_[slot].unsorted.store(entry.unsorted != 0, std::memory_order_relaxed);
  }
  durable_->rows = rows;
  durable_->lists = lists;
  durable_->crc = crc;
  list_count_.store(slots, std::memory_order_release);
  return rows;
}

absl::Status SymbolIndex::LoadFirsts(RecordReader& root) {
  TS_RETURN_IF_ERROR(Annotate(durable_->firsts.Load(root), "index"));
  for (size_t i = 0; i < durable_->firsts.size(); ++i) {
    const uint64_t word = durable_->firsts[i];
    const uint64_t link = (word & ((uint64_t{1} << kLinkBits) - 1)) << kLinkUnitShift;
    const size_t slot = word >> kLinkBits;
    TS_ASSIGN_OR_RETURN(std::byte * memory,
                        durable_->tier->Find(link - mem::Tier::kSmallestBytes, BlockBytes(0)));
    lists_.Reserve(slot + 1);
    lists_[slot].first = reinterpret_cast<Block*>(memory);
  }
  return absl::OkStatus();
}

// Takes over a symbol's blocks and the first `count` of its postings, whose rows are below
// `end_row`.
absl::Status SymbolIndex::LoadList(size_t slot, uint32_t count, size_t end_row) {
  List& list = lists_[slot];
  uint32_t left = count;
  int64_t last_row = -1;
  size_t number = 0;
  for (Block* block = list.first; block != nullptr; ++number) {
    const uint32_t capacity = CapacityOf(number);
    const uint32_t used = std::min(left, capacity);
    const uint32_t* const rows = RowsOf(block, capacity);
    bool ascend = true;
    for (uint32_t i = 0; i < used; ++i) {
      ascend &= int64_t{rows[i]} > last_row;
      last_row = rows[i];
    }
    if (!ascend || last_row >= static_cast<int64_t>(end_row)) {
      return DataLoss("index: rows of symbol {} do not ascend below {}", slot, end_row);
    }
    left -= used;
    if (used > 0 || number == 0) {
      list.tail = block;
      list.tail_number = static_cast<uint8_t>(std::min(number, kGrowingBlocks));
      list.tail_capacity = capacity;
      list.tail_used = used;
      durable_->cursors[slot] = {block, number, used, count};
    }
    list.room += capacity - used;
    list.last = block;
    bytes_.fetch_add(BlockBytes(number), std::memory_order_relaxed);
    // After the committed postings there may be a link that was never committed.
    Block* next = NextOf(block);
    if (next != nullptr &&
        !durable_->tier->Find(block->next - mem::Tier::kSmallestBytes, BlockBytes(number + 1))
             .ok()) {
      next = nullptr;
      SetNext(block, nullptr);
      FlushLink(block);
    }
    block = next;
  }
  if (left > 0) return DataLoss("index: symbol {} lacks {} of {} postings", slot, left, count);
  list.blocks = static_cast<uint8_t>(std::min(number, kGrowingBlocks));
  if (count == 0) return absl::OkStatus();
  if (times_ != nullptr) {
    list.last_ns = PostingTimes(times_, 0).ExactNs(static_cast<uint32_t>(last_row));
  }
  list.first_row = RowsOf(list.first, CapacityOf(0))[0];
  list.last_row.store(static_cast<uint32_t>(last_row), std::memory_order_relaxed);
  list.count.store(count, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace tickstack
