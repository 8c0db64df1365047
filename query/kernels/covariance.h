#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/value.h"

namespace tickstack::query {

// Statistics of two columns of numbers, as floats, over the rows where neither is null.
//
//   cov    the mean of the products of differences to the means; null of no rows
//   scov   the same of a sample: cov times n%n-1; null of one row
//   cor    cov over the product of both deviations: -1 to 1; null where one of them is 0
//
// The means are subtracted before multiplying (two passes), as in statistics.h.
// Errors: `length` if the counts differ, `type` for what is no number, chars included; `nyi` for
// lists
//         of lists.
// Cost:   16 bytes a row, two passes.
absl::StatusOr<Value> Covariance(const Slice& x, const Slice& y, Budget& budget);
absl::StatusOr<Value> SampleCovariance(const Slice& x, const Slice& y, Budget& budget);
absl::StatusOr<Value> Correlation(const Slice& x, const Slice& y, Budget& budget);

// What they are made of: sums of products of the differences to the means, over the rows where
// neither item is null.
struct JointMoments {
  double count = 0;
  double products = 0;
  double x_squares = 0, y_squares = 0;
};

// The results of some rows; NaN where they are null.
double CovarianceOf(const JointMoments& moments);
double SampleCovarianceOf(const JointMoments& moments);
double CorrelationOf(const JointMoments& moments);

}  // namespace tickstack::query
