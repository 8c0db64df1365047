#pragma once

// The tolerance of an as-of join: how much older than the left row its match may be.

#include <cstdint>

#include "absl/status/statusor.h"
#include "table/symbol_index.h"
#include "table/types.h"
#include "table/value.h"

namespace tickstack::query {

// The age of a right row is the left time minus its own time. An age equal to the maximum is
// allowed. A right row whose time is null is allowed only if the left time is null, too.
class MaxAge {
 public:
  MaxAge() = default;  // No bound.

  // Returns the bound for times in a column of type `time`. `age` is an atom, whose possible types
  // depend on the column:
  //
  //   column                       age
  //   timestamp, timespan          timespan, minute, second or time
  //   date, minute, second, time   timespan, minute, second or time, rounded down to the column's
  //                                unit; or an integer number of these units
  //   month, integers, chars       an integer
  //   datetime                     a float number of days, or a timespan
  //   reals, floats                any number
  //
  // An infinite age is no bound. Errors: `type` for other types, `domain` for a null or negative
  // age.
  static absl::StatusOr<MaxAge> Of(const Value& age, Type time);

  bool limited() const { return limited_; }
  // True if a row of time `then` is not too old at time `now`. Times are results of OrderedTime
  // (ordered_times.h). `then` must be at or before `now`.
  bool Admits(int64_t now, int64_t then) const;
  // Like the first Admits, for the rows at `now` and `then` of two runs of symbol indexes. Reads
  // exact times only if the coarse times do not decide.
  bool Admits(const PostingRun& now_run, size_t now, const PostingTimes& now_times,
              const PostingRun& then_run, size_t then, const PostingTimes& then_times) const;

 private:
  bool limited_ = false;
  bool floating_ = false;
  int64_t most_ = 0;
  double most_float_ = 0;
};

}  // namespace tickstack::query
