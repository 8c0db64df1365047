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
// With a scratch memory a charge is one block: those below kLargeBlockBytes and lists stay in DRAM
// and have a bound of their own, so that a large scratch memory does not let a query take all of
// the DRAM.
class Budget {
 public:
  // A number of bytes, and how many of them are in DRAM even with a scratch memory.
  struct Amount {
    size_t bytes = 0;
    size_t dram_bytes = 0;
  };

  // Gives back, when it is destroyed, everything that was charged during its lifetime. For steps
  // whose temporaries do not outlive them, such as an iteration over groups or blocks of rows.
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

  // One level of evaluation: an expression in another, or the call of a function. They take the
  // thread's stack, which ends without warning.
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

  // `limit` if `bytes` more than all that was charged so far would pass the bound.
  absl::Status Charge(size_t bytes);
  // `limit` as well if count * width does not fit.
  absl::Status Charge(size_t count, size_t width);
  // What has been built already, of several blocks.
  absl::Status Charge(Amount amount);
  // The items of a list, `count` Values, which stay in DRAM.
  absl::Status ChargeItems(size_t count);

  // The same for what is kept from step to step and let go when it is replaced, such as a variable:
  // Temporaries do not give it back.
  absl::Status Hold(Amount amount);
  void LetGo(Amount amount) {
    held_.bytes -= amount.bytes;
    held_.dram_bytes -= amount.dram_bytes;
  }

  // `stop` when the deadline is over, and the processor's time with it, or the request was
  // cancelled.
  absl::Status CheckTime() const;

  int max_depth() const { return limits_.max_depth; }
  size_t max_text_bytes() const { return limits_.max_text_bytes; }
  WorkerPool* workers() const { return limits_.workers; }  // nullptr: run alone.
  ScratchMemory* scratch() const { return limits_.scratch; }

 private:
  absl::Status ChargeDram(size_t bytes);
  std::string ScratchNote() const;  // For errors: which memory the bounds are about.

  size_t LeftBytes() const;
  size_t LeftDramBytes() const;

  const Limits& limits_;
  const int64_t began_at_;  // ThreadProcessorNs(), if there is a limit of it.
  Amount charged_;
  Amount held_;
  int levels_ = 0;
};

}  // namespace tickstack::query
