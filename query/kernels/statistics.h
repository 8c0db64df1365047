#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Statistics of a column of numbers, as a float; null without items. For a list of vectors, the
// result is a vector with the statistic of their first items, of their second items, and so on.
//
//   var          the variance of the items that are not null. The mean is subtracted before
//                squaring, which takes two passes. The difference of two large sums, as in the
//                definition, would lose all digits for prices that differ little.
//   dev          the standard deviation, which is the square root of var
//   svar, sdev   variance and deviation of a sample of n items: svar is var times n%n-1, and sdev
//                its root; null for one item
//   med          the middle item, or the mean of the two middle items; nulls are the smallest
//                items, as in q
//
// Cost:   two passes over the column, which is not copied; med copies it (8 bytes per item) and
//         takes linear time.
// Errors: `type` for anything but numbers (chars are not numbers); `length` for vectors of
//         different counts.
absl::StatusOr<Value> Variance(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Deviation(const Slice& slice, Budget& budget);
absl::StatusOr<Value> SampleVariance(const Slice& slice, Budget& budget);
absl::StatusOr<Value> SampleDeviation(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Median(const Slice& slice, Budget& budget);

// Checks the argument of the function `name`. Errors: `type` for anything but numbers, `nyi` for a
// list with items. An empty list is allowed.
absl::Status CheckNumbers(std::string_view name, const Slice& slice);

// Returns a float as an atom; any NaN becomes the null.
Value FloatOrNull(double value);

}  // namespace tickstack::query
