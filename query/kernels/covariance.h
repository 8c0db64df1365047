#pragma once

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Statistics of two columns of numbers, as floats, over the rows where neither is null.
//
//   cov    the mean of the products of differences from the means; null without rows
//   scov   the same for a sample: cov times n%n-1; null for one row
//   cor    cov divided by the product of both deviations: -1 to 1; null if one of them is 0
//
// The means are subtracted before multiplying (two passes), as in statistics.h.
// Errors: `length` if the counts differ; `type` for anything but numbers, also for chars; `nyi` for
//         lists of lists.
// Cost:   16 bytes per row, two passes.
absl::StatusOr<Value> Covariance(const Slice& x, const Slice& y, Budget& budget);
absl::StatusOr<Value> SampleCovariance(const Slice& x, const Slice& y, Budget& budget);
absl::StatusOr<Value> Correlation(const Slice& x, const Slice& y, Budget& budget);

// The sums from which they are computed: of products of the differences from the means, over the
// rows where neither item is null.
struct JointMoments {
  double count = 0;
  double products = 0;
  double x_squares = 0, y_squares = 0;
};

// Return the result; NaN if it is null.
double CovarianceOf(const JointMoments& moments);
double SampleCovarianceOf(const JointMoments& moments);
double CorrelationOf(const JointMoments& moments);

}  // namespace tickstack::query
