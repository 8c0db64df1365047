#pragma once

// A value over the day as a step function of time, for each symbol. Time-weighted means need it to
// insert a late row where it belongs.
//
//   spread      .---------.            each row's value is valid until the symbol's next row
//           .---'         '------------.
//           |   |         |            |
//           t0  t1        t2           t3      t3: the newest row; nothing is known after it
//
// The mean of a bar is the mean of the part of the line within the bar. A value that is valid
// across the bar's begin or end counts on both sides; nothing counts before the symbol's first row
// of the day or after its newest; and ranges where the value is null are left out. If no time
// remains, because the symbol has only one row, the mean is the value of the bar's last row. A null
// side of a quote makes its spread null until the next quote.
//
// A late row changes the line from its time to the next row's. The bars of that range are corrected
// (bars.h) exactly, since their integrals are exact (exact_sum.h).
//
// Memory: 16 bytes per row of the day, in blocks of the state's tier; rows of one symbol and time
// share a step. With `bytes_max`, a symbol whose next block would exceed it drops its oldest block.
// A late row whose time is before the remaining blocks is counted, and does not change the mean.
//
// Cost: for a row in order, 16 bytes written sequentially; for a late row, a search and moving a
// block of at most 4 KiB. Threads: one owner.

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
  // The tier must outlive this.
  StepHistory(mem::Tier* tier, size_t bytes_max) : tier_(tier), bytes_max_(bytes_max) {}
  ~StepHistory() { Clear(); }
  StepHistory(const StepHistory&) = delete;
  StepHistory& operator=(const StepHistory&) = delete;

  // How a new row changed the line.
  struct Change {
    std::optional<Step> before;  // The last step before its time.
    std::optional<Step> after;   // The first step after its time.
    std::optional<double> old;   // The value that was valid from its time on.
    bool replaced = false;       // True if there was a step at its time.
    bool forgotten = false;      // True if the steps around it were dropped, so nothing is known.
  };
  // Inserts a row of the symbol in `slot`, which arrived after all others.
  Change Insert(uint32_t slot, int64_t time_ns, double value);
  // Appends rows of a symbol that has rows already, like an Insert for each. They are in the order
  // of time, and none is older than the symbol's newest row. Returns the symbol's newest step
  // before them.
  Step AppendRun(uint32_t slot, std::span<const int64_t> times, std::span<const double> values);

  // Prefetch the memory that a symbol's next row touches: first its line, then the line's end.
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
  static constexpr uint32_t kSmallBlock = 16, kLargeBlock = 256;  // Steps per block.
  struct Block {
    Step* steps;
    uint32_t count;
    uint32_t capacity;
  };
  // Everything that a row in order touches, except its step, is in one cache line.
  struct alignas(64) Line {
    std::vector<Block> blocks;  // In the order of time; none is empty.
    Step newest{};
    // Next place in the last block, and its end; `count` of that block is correct only after
    // CloseEnd.
    Step* next = nullptr;
    Step* end = nullptr;
    bool any = false;
    bool forgetful = false;  // True if steps before the first block were dropped.
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
