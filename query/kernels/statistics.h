#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/value.h"

namespace tickstack::query {

// Statistics of a column of numbers, as a float; of nothing null.
//
//   var, dev     the variance of the items that are not null, and its root. The mean is subtracted
//                before squaring (two passes): the difference of two large sums of squares, as the
//                definition has it, loses all digits for prices that differ little.
//   svar, sdev   the same of a sample: var times n%n-1; of one item null
//   med          the middle item, or the mean of the two; nulls are the smallest items, as in q
//
// Cost:   two passes over the column where it lies; med copies it (8 bytes an item) and is linear.
// Errors: `type` for what is no number, chars included; `nyi` for a list of lists.
absl::StatusOr<Value> Variance(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Deviation(const Slice& slice, Budget& budget);
absl::StatusOr<Value> SampleVariance(const Slice& slice, Budget& budget);
absl::StatusOr<Value> SampleDeviation(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Median(const Slice& slice, Budget& budget);

// What `name` and other functions of numbers take: those errors, but a list of nothing is a column
// of no numbers.
absl::Status CheckNumbers(std::string_view name, const Slice& slice);

// A float as an atom; whatever NaN it is, the null.
Value FloatOrNull(double value);

}  // namespace tickstack::query
