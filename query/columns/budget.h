#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "query/columns/limits.h"

namespace tickstack::query {

// The memory and time that one evaluation may still use. Code that builds a value charges its bytes
// first, and code that scans a column checks the time between chunks. Only Temporaries gives
// charges back: intermediate values count like the result, so no expression can hold more than the
// limit.
//
// Threads: charges are the evaluation's own thread's. The const members may be called from the
// tasks of a parallel step (parallel.h), during which nobody charges.
//
// With a scratch memory, each charge is one block. Blocks below kLargeBlockBytes and lists stay in
// DRAM and have a separate bound, so that a large scratch memory does not let a query use up the
// DRAM.
class Budget {
 public:
  // A number of bytes, and how many of them are in DRAM even with a scratch memory.
  struct Amount {
    size_t bytes = 0;
    size_t dram_bytes = 0;
  };

  // On destruction, gives back everything that was charged during its lifetime. For steps whose
  // temporaries do not outlive them, such as an iteration over groups or blocks of rows.
  class Temporaries {
   public:
    explicit Temporaries(Budget& budget) : budget_(budget), before_(budget.charged_) {}
    ~Temporaries() { budget_.charged_ = before_; }
    Temporaries(const Temporaries&) = delete;
    Temporaries& operator=(const Temporaries&) = delete;

   private:
    Budget& budget_;
    const Amount before_;
  };

  // One level of evaluation: a nested expression, or the call of a function. Levels use the
  // thread's stack, whose overflow cannot be caught.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) { ++budget_.levels_; }
    ~Level() { --budget_.levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    absl::Status Check() const;  // `stack` if it is one too many.

   private:
    Budget& budget_;
  };

  explicit Budget(const Limits& limits)
      : limits_(limits), began_at_(limits.processor_time.count() > 0 ? ThreadProcessorNs() : 0) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // `limit` if `bytes` more than everything charged so far would exceed the bound.
  absl::Status Charge(size_t bytes);
  // `limit` as well if count * width does not fit.
  absl::Status Charge(size_t count, size_t width);
  // Charges several blocks that have been built already.
  absl::Status Charge(Amount amount);
  // The items of a list, `count` Values, which stay in DRAM.
  absl::Status ChargeItems(size_t count);

  // The same for memory that is kept across steps until it is replaced, such as a variable:
  // Temporaries does not give it back.
  absl::Status Hold(Amount amount);
  void Release(Amount amount) {
    held_.bytes -= amount.bytes;
    held_.dram_bytes -= amount.dram_bytes;
  }

  // `stop` if the deadline and the processor time are exceeded, or the request was cancelled.
  absl::Status CheckTime() const;

  int max_depth() const { return limits_.max_depth; }
  size_t max_text_bytes() const { return limits_.max_text_bytes; }
  WorkerPool* workers() const { return limits_.workers; }  // nullptr: run alone.
  ScratchMemory* scratch() const { return limits_.scratch; }

 private:
  absl::Status ChargeDram(size_t bytes);
  std::string ScratchNote() const;  // For errors: names the memory that the bounds apply to.

  size_t LeftBytes() const;
  size_t LeftDramBytes() const;

  const Limits& limits_;
  const int64_t began_at_;  // ThreadProcessorNs(), if that is limited.
  Amount charged_;
  Amount held_;
  int levels_ = 0;
};

}  // namespace tickstack::query
