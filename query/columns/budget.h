#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "query/columns/limits.h"
#include "table/value.h"

namespace tickstack::query {

// The memory and time that one evaluation may still use. Code that builds a value charges its bytes
// first, and code that scans a column checks the time between chunks. Only Temporaries gives
// charges back: intermediate values count like the result, so no expression can hold more than the
// limit.
//
// Threads: only the evaluation's own thread charges. The tasks of a parallel step (parallel.h) may
// call the const members, and the evaluation's thread does not charge while they run.
//
// With a scratch memory, each charge is one block. Blocks below kLargeBlockBytes, and lists, stay
// in DRAM. They have a separate bound, so that a query with a large scratch memory cannot use up
// the DRAM.
class Budget {
 public:
  // A number of bytes, and how many of them are in DRAM even with a scratch memory.
  struct Amount {
    size_t bytes = 0;
    size_t dram_bytes = 0;
  };

  // On destruction, gives back everything that was charged during its lifetime. For a step whose
  // temporaries are freed when it ends, such as the evaluation of one group or block of rows.
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

  // Measures the most bytes that are charged and held at a time during its lifetime, beyond those
  // before it. Others may live meanwhile.
  class Peak {
   public:
    explicit Peak(Budget& budget)
        : budget_(budget), before_(budget.UsedBytes()), outer_(budget.peak_bytes_) {
      budget_.peak_bytes_ = before_;
    }
    ~Peak() { budget_.peak_bytes_ = std::max(outer_, budget_.peak_bytes_); }
    Peak(const Peak&) = delete;
    Peak& operator=(const Peak&) = delete;
    size_t bytes() const { return budget_.peak_bytes_ - before_; }

   private:
    Budget& budget_;
    const size_t before_;
    const size_t outer_;
  };

  // One level of evaluation: a nested expression, or the call of a function. Levels use the
  // thread's stack, whose overflow cannot be caught.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) { ++budget_.levels_; }
    ~Level() { --budget_.levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    // `stack` if there are more than Limits::max_levels, or the thread's stack is almost full.
    absl::Status Check() const;

   private:
    Budget& budget_;
  };

  explicit Budget(const Limits& limits)
      : limits_(limits), began_at_(limits.processor_time.count() > 0 ? ThreadProcessorNs() : 0) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // Charges one block. `limit` if the sum of all charges would exceed the bound.
  absl::Status Charge(size_t bytes);
  // Charges one block of count * width bytes. `limit` also if the product overflows.
  absl::Status Charge(size_t count, size_t width);
  // Charges several blocks that exist already.
  absl::Status Charge(Amount amount);
  // Charges the items of a list: `count` Values, which stay in DRAM.
  absl::Status ChargeItems(size_t count);

  // Charges memory that is kept over several steps, such as the value of a variable. Only Release
  // gives it back, not Temporaries. `limit` as for Charge.
  absl::Status Hold(Amount amount);
  void Release(Amount amount) {
    held_.bytes -= amount.bytes;
    held_.dram_bytes -= amount.dram_bytes;
  }

  // Returns the bytes that can still be charged.
  size_t LeftBytes() const;

  // `stop` if the request was cancelled, or if its time is over (Limits::deadline and
  // processor_time).
  absl::Status CheckTime() const;

  const Limits& limits() const { return limits_; }
  // Says that the result of the evaluation is that of this query.
  void set_root(const void* query) { root_ = query; }
  // Returns Limits::sink, if the result of the evaluation is that of this query; else nullptr.
  AnswerSink* SinkFor(const void* query) const { return query == root_ ? limits_.sink : nullptr; }

  // Marks of parts of the expression whose rows may come in any order (remote/row_order.h). A
  // mark is valid for a few levels, so the same part in a call within this one has none.
  size_t order_marks() const { return order_marks_.size(); }
  void AddOrderMark(const void* part, const Value* sorted_by) {
    order_marks_.push_back({part, sorted_by, levels_ + kLevelsOfMark});
  }
  void TrimOrderMarks(size_t count) {
    while (order_marks_.size() > count) order_marks_.pop_back();
  }
  // Returns `sorted_by` of the part's mark, and drops the mark; nullopt if it has none.
  std::optional<const Value*> TakeOrderMark(const void* part) {
    for (OrderMark& mark : order_marks_) {
      if (mark.part != part || levels_ > mark.max_level) continue;
      mark.part = nullptr;
      return mark.sorted_by;
    }
    return std::nullopt;
  }

  int max_depth() const { return limits_.max_depth; }
  size_t max_text_bytes() const { return limits_.max_text_bytes; }
  WorkerPool* workers() const { return limits_.workers; }  // nullptr: no other thread helps.
  ScratchMemory* scratch() const { return limits_.scratch; }

 private:
  size_t UsedBytes() const { return charged_.bytes + held_.bytes; }
  void NotePeak() { peak_bytes_ = std::max(peak_bytes_, UsedBytes()); }
  absl::Status ChargeDram(size_t bytes);
  std::string ScratchNote() const;  // For errors: names the memory that the bounds apply to.

  size_t LeftDramBytes() const;

  // The call of a lambda: the expression, the call and the statement.
  static constexpr int kLevelsOfMark = 3;
  struct OrderMark {
    const void* part;
    const Value* sorted_by;
    int max_level;
  };

  const Limits& limits_;
  const void* root_ = nullptr;
  const int64_t began_at_;  // ThreadProcessorNs() at the start; 0 without Limits::processor_time.
  Amount charged_;
  Amount held_;
  size_t peak_bytes_ = 0;  // Of UsedBytes(), since the latest Peak began.
  int levels_ = 0;
  std::vector<OrderMark> order_marks_;
};

}  // namespace tickstack::query
