#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Linear algebra of float vectors, and of matrices, which are lists of float vectors with the same
// count (code.kx.com/q/ref: mmu, inv, lsq).
//
//   mmu  the product: a float for two vectors, a vector for a vector and a matrix
//   inv  the inverse of a square matrix, by LU decomposition with row exchanges
//   lsq  the matrix w for which the sum of the squares of x - w mmu y is least. For a square y, it
//        solves x = w mmu y; otherwise it solves the normal equations w (y y') = x y', by
//        Cholesky's method.
//
// Errors: `type` unless the arguments are float vectors or matrices; `length` if their counts do
//         not match; `domain` for linearly dependent rows.
// Cost:   n*m*k multiplications for the product of an n by k and a k by m matrix.
absl::StatusOr<Value> MatrixProduct(const Value& x, const Value& y, Budget& budget);
absl::StatusOr<Value> MatrixInverse(const Value& x, Budget& budget);
absl::StatusOr<Value> LeastSquares(const Value& x, const Value& y, Budget& budget);

// True for a float vector or a list of float vectors.
bool IsFloatMatrix(const Value& value);

}  // namespace tickstack::query
