// The index in a persistent tier: SymbolIndex::Save makes it durable, Load finds it again.
//
// Postings are scattered over the blocks of thousands of symbols, so making those of each batch
// durable would cost a flush per row. They are made durable at checkpoints instead, when a symbol's
// new postings lie together, and the rows since the last checkpoint are put into the index again
// when it is loaded: their symbols and times are in the columns.
//
//   entry of a symbol   | count | unsorted | CRC32C of the rows | CRC32C of the coarse times |
//
// A checkpoint flushes the postings that were added since the last one, and continues their
// checksums. It writes the entries of all symbols to one of two places in turn; the root names the
// place, and has a checksum of the entries. Postings after an entry's count are overwritten.
//
// Each new block is added to a list, which has a checksum: symbol and place. Every commit includes
// the list, so each block that the tier regards as allocated has an owner. The links in blocks are
// only for the running process. They are never flushed, and are set again from the list when the
// index is loaded.
//
// Loading reads the index once, 8 bytes a row, to compare the checksums. It also checks that row
// numbers ascend and are in the table, because queries use them as addresses.

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

// Symbols whose postings a worker compares with their checksums at a time.
constexpr size_t kSlotsPerTask = 64;

// Packs a block into a word of a DurableList: the slot of its symbol, then its link in units of 256
// bytes.
constexpr int kLinkUnitShift = 8;
constexpr int kLinkBits = 36;
constexpr size_t kSlotsMax = size_t{1} << (64 - kLinkBits);

uint64_t PostingsWord(size_t slot, uint64_t link) {
  return uint64_t{slot} << kLinkBits | link >> kLinkUnitShift;
}

}  // namespace

struct SymbolIndex::Entry {
  uint32_t count;
  uint32_t unsorted;
  uint32_t rows_crc;
  uint32_t coarse_crc;
};

// Members that only an index in a persistent tier needs.
struct SymbolIndex::Durable {
  explicit Durable(mem::PersistentTier* of)
      : tier(of),
        blocks(of),
        checkpoint_rows(of->CommitStats().msync ? kCheckpointRowsMsync : kCheckpointRows) {}
  ~Durable() {
    for (const Place& place : places) {
      if (place.memory != nullptr) tier->Free(place.memory, place.bytes);
    }
  }

  // How far a symbol's postings are flushed, and the checksums up to there.
  struct Cursor {
    Block* block = nullptr;
    size_t number = 0;
    uint32_t used = 0;
    uint32_t count = 0;
    uint32_t rows_crc = 0;
    uint32_t coarse_crc = 0;
  };
  struct Place {
    std::byte* memory = nullptr;
    size_t bytes = 0;
  };

  mem::PersistentTier* const tier;
  DurableList blocks;  // In the order in which they were added, see PostingsWord.
  const size_t checkpoint_rows;
  std::vector<Cursor> cursors;  // By SlotOf.
  Place places[2];
  int current = 0;
  // The last checkpoint.
  size_t rows = 0;
  size_t lists = 0;
  uint32_t crc = 0;
  bool renew = false;  // True: the next Save makes a checkpoint.
};

void SymbolIndex::DurableDeleter::operator()(Durable* durable) const { delete durable; }

void SymbolIndex::MakeDurable(mem::PersistentTier* tier) {
  durable_.reset(new Durable(tier));
  // No block has link 0, which means that there is none.
  link_base_ = reinterpret_cast<uintptr_t>(tier->base()) - mem::Tier::kSmallestBytes;
}

absl::Status SymbolIndex::NoteBlock(size_t slot, const Block* block) {
  if (slot >= kSlotsMax) return ResourceExhausted("more than {} symbols", kSlotsMax);
  return durable_->blocks.Append(PostingsWord(slot, LinkOf(block)));
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
    const auto flush = [&](const uint32_t* from, uint32_t& crc) {
      const auto bytes = std::as_bytes(std::span(from + cursor.used, from + end));
      crc = ExtendCrc32c(crc, bytes);
      durable_->tier->Flush(bytes.data(), bytes.size());
    };
    if (times_ != nullptr) flush(CoarseOf(cursor.block), cursor.coarse_crc);
    flush(RowsOf(cursor.block, capacity), cursor.rows_crc);
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
    const Durable::Cursor& cursor = durable_->cursors[slot];
    const bool unsorted = lists_[slot].unsorted.load(std::memory_order_relaxed);
    entries[slot] = {cursor.count, unsorted ? 1u : 0u, cursor.rows_crc, cursor.coarse_crc};
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
  const bool due = since >= durable_->checkpoint_rows || (whole && since > 0) || durable_->renew;
  if (due && Checkpoint(rows).ok()) durable_->renew = false;
  durable_->blocks.Save(root);
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

absl::StatusOr<size_t> SymbolIndex::Load(RecordReader& root, size_t end_row, WorkerPool& workers) {
  TS_RETURN_IF_ERROR(Annotate(LoadRecord(root, end_row), "index"));
  TS_RETURN_IF_ERROR(Annotate(LoadBlocks(), "index"));
  const size_t slots = std::max<size_t>(durable_->lists, lists_.reserved());
  lists_.Reserve(slots);
  durable_->cursors.resize(slots);
  const std::byte* const entries = durable_->places[durable_->current].memory;
  const auto load = [&](size_t task) -> absl::Status {
    const size_t end = std::min(slots, (task + 1) * kSlotsPerTask);
    for (size_t slot = task * kSlotsPerTask; slot < end; ++slot) {
      Entry entry{};
      if (slot < durable_->lists) {
        std::memcpy(&entry, entries + slot * sizeof(Entry), sizeof(entry));
      }
      TS_RETURN_IF_ERROR(LoadList(slot, entry));
    }
    return absl::OkStatus();
  };
  const size_t tasks = (slots + kSlotsPerTask - 1) / kSlotsPerTask;
  TS_RETURN_IF_ERROR(Annotate(workers.ParallelFor(tasks, load), "index"));
  list_count_.store(slots, std::memory_order_release);
  return durable_->rows;
}

absl::Status SymbolIndex::LoadRecord(RecordReader& root, size_t end_row) {
  TS_RETURN_IF_ERROR(durable_->blocks.Load(root));
  absl::Status cut_short = DataLoss("the record is cut short");
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
  const Durable::Place& place = durable_->places[current & 1];
  if (rows > end_row || lists > place.bytes / sizeof(Entry)) {
    return DataLoss("{} rows and {} symbols, the table has {} rows and {} bytes of entries", rows,
                    lists, end_row, place.bytes);
  }
  const size_t bytes = lists * sizeof(Entry);
  if (lists > 0 && Crc32c({place.memory, bytes}) != crc) {
    return DataLoss("{}: the checksum of the entries of {} symbols disagrees",
                    durable_->tier->PlaceOf(place.memory, bytes), lists);
  }
  durable_->current = current & 1;
  durable_->rows = rows;
  durable_->lists = lists;
  durable_->crc = crc;
  base_ns_.store(base_ns, std::memory_order_relaxed);
  return absl::OkStatus();
}

// Links each symbol's blocks in their order. Links that are right already are not written, which
// would only cost writes to the medium.
absl::Status SymbolIndex::LoadBlocks() {
  for (size_t i = 0; i < durable_->blocks.size(); ++i) {
    const uint64_t word = durable_->blocks[i];
    const uint64_t link = (word & ((uint64_t{1} << kLinkBits) - 1)) << kLinkUnitShift;
    const size_t slot = word >> kLinkBits;
    lists_.Reserve(slot + 1);
    List& list = lists_[slot];
    const size_t bytes = BlockBytes(list.blocks);
    TS_ASSIGN_OR_RETURN(std::byte * memory,
                        durable_->tier->Find(link - mem::Tier::kSmallestBytes, bytes));
    auto* const block = reinterpret_cast<Block*>(memory);
    if (list.last == nullptr) {
      list.first = block;
    } else if (list.last->next != LinkOf(block)) {
      SetNext(list.last, block);
    }
    list.last = block;
    list.room += CapacityOf(list.blocks);
    if (list.blocks < kGrowingBlocks) ++list.blocks;
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  CutLinks();
  return absl::OkStatus();
}

// Removes links from the last blocks to blocks that no commit included, or that another process
// added.
void SymbolIndex::CutLinks() {
  for (size_t slot = 0; slot < lists_.reserved(); ++slot) {
    Block* const last = lists_[slot].last;
    if (last != nullptr && last->next != 0) SetNext(last, nullptr);
  }
}

void SymbolIndex::DropAdditions() {
  CutLinks();
  durable_->renew = true;
}

// Takes over the postings of a checkpoint into a list that has its blocks.
absl::Status SymbolIndex::LoadList(size_t slot, const Entry& entry) {
  List& list = lists_[slot];
  Durable::Cursor& cursor = durable_->cursors[slot];
  uint32_t left = entry.count;
  int64_t last_row = -1;
  bool ascend = true;
  size_t number = 0;
  for (Block* block = list.first; block != nullptr && (left > 0 || number == 0); ++number) {
    const uint32_t capacity = CapacityOf(number);
    const uint32_t used = std::min(left, capacity);
    const std::span<const uint32_t> rows(RowsOf(block, capacity), used);
    for (const uint32_t row : rows) {
      ascend &= int64_t{row} > last_row;
      last_row = row;
    }
    const uint32_t rows_crc = ExtendCrc32c(cursor.rows_crc, std::as_bytes(rows));
    uint32_t coarse_crc = 0;
    if (times_ != nullptr) {
      coarse_crc = ExtendCrc32c(cursor.coarse_crc,
                                std::as_bytes(std::span<const uint32_t>(CoarseOf(block), used)));
    }
    cursor = {block, number, used, entry.count, rows_crc, coarse_crc};
    list.tail = block;
    list.tail_number = static_cast<uint8_t>(std::min(number, kGrowingBlocks));
    list.tail_capacity = capacity;
    list.tail_used = used;
    left -= used;
    block = NextOf(block);
  }
  if (left > 0) return DataLoss("symbol {} lacks {} of {} postings", slot, left, entry.count);
  if (entry.count == 0) return absl::OkStatus();
  if (cursor.rows_crc != entry.rows_crc || cursor.coarse_crc != entry.coarse_crc) {
    return DataLoss(
        "symbol {}: the checksum of {} postings in {} blocks disagrees, the first is {}", slot,
        entry.count, number,
        durable_->tier->PlaceOf(reinterpret_cast<const std::byte*>(list.first), BlockBytes(0)));
  }
  if (!ascend || last_row >= static_cast<int64_t>(durable_->rows)) {
    return DataLoss("rows of symbol {} do not ascend below {}", slot, durable_->rows);
  }
  if (times_ != nullptr) {
    list.last_ns = PostingTimes(times_, 0).ExactNs(static_cast<uint32_t>(last_row));
  }
  list.room -= entry.count;
  list.unsorted.store(entry.unsorted != 0, std::memory_order_relaxed);
  list.first_row = RowsOf(list.first, CapacityOf(0))[0];
  list.last_row.store(static_cast<uint32_t>(last_row), std::memory_order_relaxed);
  list.count.store(entry.count, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace tickstack
