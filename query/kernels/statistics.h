#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Statistics of a column of numbers, as a float; null without items.
//
//   var, dev     the variance of the items that are not null, and its root. The mean is subtracted
//                before squaring (two passes): the difference of two large sums of squares, as the
//                definition has it, loses all digits for prices that differ little.
//   svar, sdev   the same for a sample: var times n%n-1; null for one item
//   med          the middle item, or the mean of the two; nulls are the smallest items, as in q
//
// Cost:   two passes over the column in place; med copies it (8 bytes per item) and is linear.
// A list of vectors gives a vector: the statistic of their first items, of their second items...
// Errors: `type` for anything but numbers, also for chars; `length` for vectors of different
//         counts.
absl::StatusOr<Value> Variance(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Deviation(const Slice& slice, Budget& budget);
absl::StatusOr<Value> SampleVariance(const Slice& slice, Budget& budget);
absl::StatusOr<Value> SampleDeviation(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Median(const Slice& slice, Budget& budget);

// Checks the argument of a function of numbers, with these errors for `name`; an empty list counts
// as a column without numbers.
absl::Status CheckNumbers(std::string_view name, const Slice& slice);

// Returns a float as an atom; any NaN becomes the null.
Value FloatOrNull(double value);

}  // namespace tickstack::query
