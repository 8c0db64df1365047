#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Linear algebra of float vectors, and of matrices, which are lists of float vectors of one count
// (code.kx.com/q/ref: mmu, inv, lsq).
//
//   mmu  the product; of two vectors a float, of a vector and a matrix a vector
//   inv  the inverse of a square matrix, by LU decomposition with row exchanges
//   lsq  the matrix w that makes the sum of the squares of x - w mmu y least: for a square y the
//        solution, otherwise that of the normal equations w (y y') = x y', by Cholesky's method
//
// Errors: `type` unless each is a float vector or matrix; `length` if their counts do not fit;
//         `domain` for linearly dependent rows.
// Cost:   n*m*k multiplications for the product of an n*k and a k*m matrix.
absl::StatusOr<Value> MatrixProduct(const Value& x, const Value& y, Budget& budget);
absl::StatusOr<Value> MatrixInverse(const Value& x, Budget& budget);
absl::StatusOr<Value> LeastSquares(const Value& x, const Value& y, Budget& budget);

// True for a float vector, and for a list of them.
bool IsFloatMatrix(const Value& value);

}  // namespace tickstack::query
