#pragma once

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Statistics of two columns of numbers, as floats, over the rows where neither is null.
//
//   cov    covariance: the mean of the products of the differences from the means; null without
//          rows
//   scov   covariance of a sample of n rows: cov times n%n-1; null for one row
//   cor    correlation, -1 to 1: cov divided by both standard deviations; null if one of them is 0
//
// The means are subtracted before multiplying (two passes), as in statistics.h.
// Errors: `length` if the counts differ; `type` for columns other than numbers (chars are not
//         numbers); `nyi` for lists of lists.
// Cost:   16 bytes per row, two passes.
absl::StatusOr<Value> Covariance(const Slice& x, const Slice& y, Budget& budget);
absl::StatusOr<Value> SampleCovariance(const Slice& x, const Slice& y, Budget& budget);
absl::StatusOr<Value> Correlation(const Slice& x, const Slice& y, Budget& budget);

// The sums from which these statistics are computed, over the rows where neither item is null. The
// differences are those of items from their column's mean.
struct JointMoments {
  double count = 0;                     // Number of rows.
  double products = 0;                  // Sum of difference of x times difference of y.
  double x_squares = 0, y_squares = 0;  // Sums of the squares of the differences.
};

// Return the statistic; NaN instead of null.
double CovarianceOf(const JointMoments& moments);
double SampleCovarianceOf(const JointMoments& moments);
double CorrelationOf(const JointMoments& moments);

}  // namespace tickstack::query
