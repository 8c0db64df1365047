#pragma once

// The per-symbol index of a table, kdb+'s `g#`: for each symbol, the numbers and times of its rows
// in order of arrival.
//
// A symbol's postings are a chain of blocks, each a power of two of bytes: two of 512 B, two of
// 1 KiB and so on up to 1 MiB.
//
//   | next block | coarse[n] | rows[n] |     n = (bytes - 8) / 8: 63, 63, 127, ... 131,071
//
// So a reader gets long runs of contiguous memory, and a day of 8,000 symbols with Zipf activity
// wastes a fifth. Without times, a posting has 4 bytes.
//
// Coarse times. A posting repeats its row's time in 32 bits, in units of 2^15 ns from a base,
// saturating at both ends:
//
//   coarse(ns) = clamp((ns - base_ns) >> 15, 0, 2^32 - 1)      32.8 us a unit, 39 hours in all
//
// Still, every search is exact, because coarse is monotonic: if x <= y then coarse(x) <= coarse(y),
// and therefore coarse(x) < coarse(y) implies x < y. So postings in order of time are also in order
// of coarse time, and two different coarse times decide the order of two times. Only if a posting's
// coarse time equals the searched one is the order undecided. Then the exact time is read from the
// time column, by row number. A binary search does that at most once, as long as a symbol has less
// than one row in 33 us. Times out of range (nulls, infinities, the third day) share the first or
// the last coarse time: searches for them read exact times at each step, which is slower but still
// exact.
//
// The base is the midnight before the first non-null timestamp. Timespans have base 0.
//
// The writer fills a posting, then stores the symbol's count with release. A reader loads the count
// with acquire, follows that many postings, and drops those of rows beyond its snapshot, which are
// at the end because row numbers ascend.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/worker_pool.h"
#include "mem/persistent_tier.h"
#include "mem/tier.h"
#include "table/column.h"
#include "table/record.h"
#include "table/stable_array.h"
#include "table/symbols.h"

namespace tickstack {

// A run of postings in contiguous memory. Valid while the table exists.
struct PostingRun {
  std::span<const uint32_t> rows;    // Ascending row numbers.
  std::span<const uint32_t> coarse;  // The rows' coarse times; empty if the table has no times.
  // The medium that readers charge for reading the postings (mem/medium.h); nullptr for real
  // memory.
  mem::Medium* medium = nullptr;
};

// Compares postings by time. It has the base of their coarse times, and the column of their exact
// times. Cheap to copy, reentrant, valid while a snapshot of the table is held that was taken
// before.
class PostingTimes {
 public:
  // The base while all times so far are null. With this base, every coarse time is 0.
  static constexpr int64_t kNoBase = INT64_MAX;

  PostingTimes(const Column* exact, int64_t base_ns) : exact_(exact), base_ns_(base_ns) {}

  uint32_t CoarseOf(int64_t ns) const {
    if (ns <= base_ns_) return 0;
    const uint64_t units =
        (static_cast<uint64_t>(ns) - static_cast<uint64_t>(base_ns_)) >> kUnitShift;
    return static_cast<uint32_t>(std::min<uint64_t>(units, UINT32_MAX));
  }
  // Returns the exact time of a row. Cost: an access to the time column, usually a cache miss.
  int64_t ExactNs(uint32_t row) const {
    int64_t ns;
    std::memcpy(&ns, exact_->Element(row), sizeof(ns));
    return ns;
  }
  void Prefetch(uint32_t row) const { __builtin_prefetch(exact_->Element(row)); }
  // Returns the medium that is charged for reading exact times.
  mem::Medium* medium() const { return exact_->medium(); }
  // True if both have the same base, so that their coarse times can be compared.
  bool SameClock(const PostingTimes& other) const { return base_ns_ == other.base_ns_; }
  // What two coarse times imply about the difference of the exact times.
  struct Apart {
    int64_t more_than_ns;
    int64_t less_than_ns;
  };
  // Returns bounds of the exact difference; `then` is at or before `now`. nullopt at the ends of
  // the clock, where coarse times imply nothing.
  static std::optional<Apart> ApartNs(uint32_t now, uint32_t then) {
    if (then == 0 || now == UINT32_MAX) return std::nullopt;
    const auto units = static_cast<int64_t>(now - then);
    return Apart{(units - 1) * (int64_t{1} << kUnitShift),
                 (units + 1) * (int64_t{1} << kUnitShift)};
  }
  // Returns the end of the postings at or before `ns` among [begin, end) of a run. The run's times
  // must ascend, and none of these postings may have a later coarse time than `ns`.
  size_t EndOfExact(const PostingRun& run, size_t begin, size_t end, int64_t ns) const {
    if (begin == end || run.coarse[end - 1] < CoarseOf(ns)) [[likely]] {
      return end;
    }
    return EndOfTies(run, begin, end, ns);
  }
  // Returns the number of postings before `ns` in a run whose times ascend. Cost: a binary search.
  size_t CountBefore(const PostingRun& run, int64_t ns) const;
  // Returns the number of postings at or before `ns`, in the same way.
  size_t CountAtOrBefore(const PostingRun& run, int64_t ns) const;

 private:
  static constexpr int kUnitShift = 15;

  size_t EndOfTies(const PostingRun& run, size_t begin, size_t end, int64_t ns) const;

  const Column* exact_;
  int64_t base_ns_;
};

struct Postings {
  std::vector<PostingRun> runs;
  std::optional<PostingTimes> times;  // Set if the table has times.
  size_t rows = 0;                    // Sum over the runs.
  bool time_sorted = true;  // True if times never decreased among all rows of this symbol.
  std::shared_ptr<const void> owner = nullptr;  // Keeps runs alive that are not in the table.
};

// A symbol's number of rows, and its first and last row. If the number is 0, the rows have no
// meaning.
struct PostingEnds {
  uint32_t rows = 0;
  uint32_t first_row = 0;
  uint32_t last_row = 0;
};

// Threads: one writer calls Reserve and Append; any thread calls Find.
class SymbolIndex {
 public:
  // `times` is the table's column of timestamps or timespans, which must outlive the index; nullptr
  // for an index without times.
  SymbolIndex(mem::Tier* tier, const Column* times);
  ~SymbolIndex();
  SymbolIndex(const SymbolIndex&) = delete;
  SymbolIndex& operator=(const SymbolIndex&) = delete;

  // Makes room for one posting for each of `ids`, in addition to the room from earlier calls since
  // the last Append. kResourceExhausted if the tier is full; call Cancel then.
  absl::Status Reserve(std::span<const SymbolId> ids);
  // Drops the reservations for these ids when the batch is refused. Reserved blocks are kept for
  // the next batch.
  void Cancel(std::span<const SymbolId> ids);
  // Adds rows first_row, first_row + 1, ... for reserved ids. `time_ns` has as many elements, or
  // none if the index has no times.
  void Append(std::span<const SymbolId> ids, const int64_t* time_ns, uint32_t first_row);

  // Returns the postings of `symbol` at rows below `end_row`.
  Postings Find(SymbolId symbol, size_t end_row) const;

  // Returns the first and last of these postings without following the chain. Cost: one cache line,
  // unless the writer has appended to the symbol since the snapshot.
  PostingEnds EndsOf(SymbolId symbol, size_t end_row) const;

  // Returns the bytes allocated from the tier, as rounded by the tier. Any thread, as for
  // Column::bytes.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // ---- In a persistent tier; see symbol_index_save.cc. For the writer only.

  // Appends the state of the index to a root, from which Load restores it; `rows` is the number of
  // rows in the table. Makes a checkpoint of the postings if enough were added since the last one,
  // or if `whole` is set.
  void Save(ByteBuffer& root, size_t rows, bool whole);
  // Restores the saved state into an empty index, and returns how many of the table's `end_row`
  // rows it covers. The time column must be restored before. kDataLoss if the tier lacks the state,
  // or if a checksum disagrees. The workers help to compare the checksums.
  absl::StatusOr<size_t> Load(RecordReader& root, size_t end_row, WorkerPool& workers);
  // Drops the postings that another process added after the last Save, and makes the next Save a
  // checkpoint: the other process may have overwritten the entries of the last one.
  void DropAdditions();

 private:
  struct Durable;
  struct DurableDeleter {
    void operator()(Durable* durable) const;
  };
  struct Block {
    uint64_t next;  // See LinkOf.
    // coarse[n], rows[n] follow.
  };
  // The postings of one symbol: one cache line, the only one that the writer accesses for a row
  // besides its posting.
  struct alignas(64) List {
    std::atomic<uint32_t> count = 0;
    std::atomic<bool> unsorted = false;
    uint8_t blocks = 0;  // Number of blocks, at most kGrowingBlocks; gives the next one's size.
    uint8_t tail_number = 0;  // Number of the tail block, at most kGrowingBlocks; gives its size.
    uint32_t pending = 0;     // Reserved by the batch in progress.
    uint32_t room = 0;        // Postings that fit into the blocks made so far.
    uint32_t tail_used = 0;
    uint32_t tail_capacity = 0;
    uint32_t first_row = 0;  // Written before the first posting is counted, and never again.
    std::atomic<uint32_t> last_row = 0;  // Stored before the posting is counted.
    int64_t last_ns = INT64_MIN;
    Block* first = nullptr;
    Block* tail = nullptr;
    Block* last = nullptr;  // The last block: the tail or a reserved one.
  };

  static size_t SlotOf(SymbolId id) { return id == kNullSymbol ? 0 : static_cast<size_t>(id) + 1; }
  static size_t BlockBytes(size_t number);
  uint32_t CapacityOf(size_t number) const;
  static uint32_t* CoarseOf(Block* block) { return reinterpret_cast<uint32_t*>(block + 1); }
  uint32_t* RowsOf(Block* block, uint32_t capacity) const {
    return CoarseOf(block) + (times_ == nullptr ? 0 : capacity);
  }
  // Returns the link to a block. It is the block's address, or its offset in a persistent tier,
  // whose address differs between processes. 0 means no block.
  uint64_t LinkOf(const Block* block) const {
    return reinterpret_cast<uintptr_t>(block) - link_base_;
  }
  Block* NextOf(const Block* block) const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a link is a number because of persistent tiers.
    return block->next == 0 ? nullptr : reinterpret_cast<Block*>(link_base_ + block->next);
  }
  void SetNext(Block* block, const Block* next) const {
    block->next = next == nullptr ? 0 : LinkOf(next);
  }
  void ChooseBase(std::span<const int64_t> time_ns);
  absl::Status AddBlock(size_t slot, List& list);
  absl::Status NoteBlock(size_t slot, const Block* block);
  void NextTail(List& list);
  void MakeDurable(mem::PersistentTier* tier);
  void FlushPostings(size_t slot);
  absl::Status ReservePlaces(size_t lists);
  absl::Status Checkpoint(size_t rows);
  struct Entry;
  absl::Status LoadRecord(RecordReader& root, size_t end_row);
  absl::Status LoadBlocks();
  void CutLinks();
  absl::Status LoadList(size_t slot, const Entry& entry);

  static constexpr size_t kDoublings = 11;  // Block sizes up to 1 MiB.
  // Number of blocks of each size. For the 8,000 symbols of a Zipf day, one block of each size
  // would take 1.44 times the bytes of the postings on average; two take 1.2 times.
  static constexpr size_t kBlocksPerSize = 2;
  static constexpr size_t kGrowingBlocks = kBlocksPerSize * kDoublings;

  mem::Tier* const tier_;
  uintptr_t link_base_ = 0;
  std::unique_ptr<Durable, DurableDeleter> durable_;  // nullptr: the tier ends with the process.
  const Column* const times_;
  // Base of the coarse times of timestamps. Stored once, before the count of the first posting that
  // uses it: a reader that sees that count sees the base, and one that does not has postings of
  // coarse time 0 only.
  std::atomic<int64_t> base_ns_;
  std::atomic<size_t> bytes_ = 0;       // Only the writer stores.
  StableArray<List> lists_;             // By SlotOf.
  std::atomic<size_t> list_count_ = 0;  // Lists that a reader may touch.
};

}  // namespace tickstack
