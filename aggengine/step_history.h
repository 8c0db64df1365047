#pragma once

// The day of a value as a step function of time, for each symbol: what a mean over time needs, so
// that a late row can be put where it belongs.
//
//   spread      .---------.            each row's value holds until the symbol's next row
//           .---'         '------------.
//           |   |         |            |
//           t0  t1        t2           t3      t3: the newest row. Nothing is known behind it
//
// The mean of a bar is that of the part of the line within the bar: a value that holds across the
// bar's begin or end counts on both sides, nothing counts before the symbol's first row of the day
// or behind its newest, and stretches where the value is null are left out. If that leaves no time,
// because the symbol has one row only, the mean is the value of the bar's last row. A null side of
// a quote makes its spread null until the next quote.
//
// A row that comes late changes the line from its time to the next row's: the bars that this is in
// are corrected (bars.h), exactly, since their integrals are exact (exact_sum.h).
//
// Memory: 16 bytes a row of the day, in blocks of the state's tier; rows of one symbol and time are
// one. With `bytes_max` a symbol whose next block would go beyond it gives up its oldest one: rows
// that come later than what is then left are counted, and do not change the mean.
//
// Cost: a row in order 16 bytes written in sequence; a late one a search and a block moved, 4 KiB
// at most. Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mem/tier.h"

namespace tickstack::aggengine {

struct Step {
  int64_t time_ns;
  double value;  // NaN: null.
};

class StepHistory {
 public:
  // The tier outlives this.
  StepHistory(mem::Tier* tier, size_t bytes_max) : tier_(tier), bytes_max_(bytes_max) {}
  ~StepHistory() { Clear(); }
  StepHistory(const StepHistory&) = delete;
  StepHistory& operator=(const StepHistory&) = delete;

  // What a new row did to the line.
  struct Change {
    std::optional<Step> before;  // The last step before its time.
    std::optional<Step> after;   // The first behind it.
    std::optional<double> old;   // What held from its time on.
    bool replaced = false;       // There was a step at its time.
    bool forgotten = false;      // Its surroundings were given up: nothing is known.
  };
  // A row of the symbol in `slot`, which came after all that came before.
  Change Insert(uint32_t slot, int64_t time_ns, double value);
  // Rows of a symbol that has one, in the order of time, none older than its newest: as Insert for
  // each of them. Returns the symbol's newest step before.
  Step AppendRun(uint32_t slot, std::span<const int64_t> times, std::span<const double> values);

  // Asks for the memory that a symbol's next row touches: first its line, then that one's end.
  void PrefetchLine(uint32_t slot) const {
    if (slot < lines_.size()) __builtin_prefetch(&lines_[slot], 1);
  }
  void PrefetchEnd(uint32_t slot) const {
    if (slot < lines_.size()) __builtin_prefetch(lines_[slot].next, 1);
  }

  void Clear();
  // Return the bytes used in the tier, and the DRAM of the index of blocks.
  size_t bytes() const { return bytes_; }
  size_t index_bytes() const;

 private:
  static constexpr uint32_t kSmallBlock = 16, kLargeBlock = 256;  // Steps.
  struct Block {
    Step* steps;
    uint32_t count;
    uint32_t capacity;
  };
  // What a row in order touches, but for its step, is one cache line.
  struct alignas(64) Line {
    std::vector<Block> blocks;  // In the order of time; none is empty.
    Step newest{};
    // Where the last block goes on, and ends; its `count` is only right after CloseEnd.
    Step* next = nullptr;
    Step* end = nullptr;
    bool any = false;
    bool forgetful = false;  // Steps before the first block were given up.
  };

  static void CloseEnd(Line& line);
  static void OpenEnd(Line& line);
  void Append(Line& line, Step step);
  Change InsertLate(Line& line, Step step);
  bool Place(Line& line, size_t block, uint32_t at, Step step);
  std::optional<Block> NewBlock(uint32_t capacity);
  void FreeBlock(const Block& block);
  void Forget(Line& line);

  mem::Tier* const tier_;
  const size_t bytes_max_;
  size_t bytes_ = 0;
  std::vector<Line> lines_;  // By slot.
};

}  // namespace tickstack::aggengine
