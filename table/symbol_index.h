#pragma once

// The per-symbol index of a table, kdb+'s `g#`: for each symbol the numbers and times of its rows
// in arrival order.
//
// A symbol's postings are a chain of blocks, each a power of two of bytes: two of 512 B, two of
// 1 KiB and so on up to 1 MiB.
//
//   | next block | time_ns[n] | rows[n] |     n = (bytes - 8) / 12: 42, 42, 84, ... 87,380
//
// So a reader has long runs of contiguous memory, and what a day of 8,000 symbols with a Zipf
// activity wastes is a fifth. Without times a posting has 4 bytes.
//
// The writer fills a posting, then stores the symbol's count with release. A reader loads the count
// with acquire, follows that many postings, and drops those at rows that its snapshot does not
// have: rows ascend, so what it drops is a tail.

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "mem/tier.h"
#include "table/stable_array.h"
#include "table/symbols.h"

namespace tickstack {

// A run of postings in contiguous memory. Valid as long as the table.
struct PostingRun {
  std::span<const uint32_t> rows;    // Ascending row numbers.
  std::span<const int64_t> time_ns;  // The rows' times; empty if the table has none.
};

struct Postings {
  std::vector<PostingRun> runs;
  size_t rows = 0;          // Sum over the runs.
  bool time_sorted = true;  // Times never went down, over everything ever appended for this symbol.
};

// Threads: one writer calls Reserve and Append; any thread calls Find.
class SymbolIndex {
 public:
  SymbolIndex(mem::Tier* tier, bool with_times) : tier_(tier), with_times_(with_times) {}
  ~SymbolIndex();
  SymbolIndex(const SymbolIndex&) = delete;
  SymbolIndex& operator=(const SymbolIndex&) = delete;

  // Makes room for one posting of each of `ids`, on top of what earlier calls since the last
  // Append reserved. kResourceExhausted if the tier is full; Cancel then.
  absl::Status Reserve(std::span<const SymbolId> ids);
  // Forgets the reservations of these ids: the batch is refused. Blocks stay for the next one.
  void Cancel(std::span<const SymbolId> ids);
  // Adds rows first_row, first_row + 1, ... for ids that were reserved. `time_ns` has as many
  // elements, or none if the index has no times.
  void Append(std::span<const SymbolId> ids, const int64_t* time_ns, uint32_t first_row);

  // The postings of `symbol` at rows below `end_row`.
  Postings Find(SymbolId symbol, size_t end_row) const;

  // Taken from the tier, rounded as tiers do. Any thread, as Column::bytes.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Block {
    Block* next;
    // time_ns[n], rows[n] follow.
  };
  // What the writer touches for a row is one cache line.
  struct alignas(64) List {
    std::atomic<uint32_t> count = 0;
    std::atomic<bool> unsorted = false;
    uint8_t blocks = 0;       // Blocks made, as far as it matters for the size of the next.
    uint8_t tail_number = 0;  // Which block the tail is, as far as it matters for its size.
    uint32_t pending = 0;     // Reserved by the batch in progress.
    uint32_t room = 0;        // Postings that fit into the blocks made so far.
    uint32_t tail_used = 0;
    uint32_t tail_capacity = 0;
    int64_t last_ns = INT64_MIN;
    Block* first = nullptr;
    Block* tail = nullptr;
    Block* last = nullptr;  // The last one made: the tail or a reserved one.
  };

  static size_t SlotOf(SymbolId id) { return id == kNullSymbol ? 0 : static_cast<size_t>(id) + 1; }
  static size_t BlockBytes(size_t number);
  uint32_t CapacityOf(size_t number) const;
  int64_t* TimesOf(Block* block) const { return reinterpret_cast<int64_t*>(block + 1); }
  uint32_t* RowsOf(Block* block, uint32_t capacity) const {
    return with_times_ ? reinterpret_cast<uint32_t*>(TimesOf(block) + capacity)
                       : reinterpret_cast<uint32_t*>(block + 1);
  }
  absl::Status AddBlock(List& list);
  void NextTail(List& list);

  mem::Tier* const tier_;
  const bool with_times_;
  std::atomic<size_t> bytes_ = 0;       // Only the writer stores.
  StableArray<List> lists_;             // By SlotOf.
  std::atomic<size_t> list_count_ = 0;  // Lists that a reader may touch.
};

}  // namespace tickstack
