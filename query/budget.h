#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "base/worker_pool.h"
#include "query/query.h"

namespace tickstack::query {

// What one evaluation may still use. Whoever is about to build a value charges its bytes first, and
// whoever scans a column asks between chunks whether to go on. Charges are given back only by
// Temporaries: what an evaluation built counts like its result, so that no expression can hold more
// than the limit.
//
// Threads: charges are the evaluation's own thread's. The const members may be called from the
// tasks of a parallel step (parallel.h), during which nobody charges.
//
// With a scratch memory a charge is one block: those below kLargeBlockBytes and lists stay in DRAM
// and have a bound of their own, so that a large scratch memory does not let a query take all of
// the DRAM.
class Budget {
  struct Charged {
    size_t bytes = 0;
    size_t dram_bytes = 0;
  };

 public:
  // Gives back on its end what was charged since it began: for a step whose temporaries are gone
  // when it ends, as in a loop over groups or blocks of rows.
  class Temporaries {
   public:
    explicit Temporaries(Budget& budget) : budget_(budget), before_(budget.charged_) {}
    ~Temporaries() { budget_.charged_ = before_; }
    Temporaries(const Temporaries&) = delete;
    Temporaries& operator=(const Temporaries&) = delete;

   private:
    Budget& budget_;
    const Charged before_;
  };

  explicit Budget(const Limits& limits) : limits_(limits) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // `limit` if `bytes` more than all that was charged so far would pass the bound.
  absl::Status Charge(size_t bytes);
  // `limit` as well if count * width does not fit.
  absl::Status Charge(size_t count, size_t width);
  // The items of a list, `count` Values, which stay in DRAM.
  absl::Status ChargeItems(size_t count);

  // `stop` when the deadline is over or the request was cancelled.
  absl::Status CheckTime() const;

  int max_depth() const { return limits_.max_depth; }
  WorkerPool* workers() const { return limits_.workers; }  // nullptr: run alone.
  ScratchMemory* scratch() const { return limits_.scratch; }

 private:
  absl::Status ChargeDram(size_t bytes);
  std::string ScratchNote() const;  // For errors: which memory the bounds are about.

  const Limits& limits_;
  Charged charged_;
};

}  // namespace tickstack::query
