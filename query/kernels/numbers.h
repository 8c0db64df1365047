#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Functions of one number. They are applied to each item: of vectors, of lists at any depth, of the
// values of dictionaries, and of the columns of tables.
//
//   Floor, Ceiling   longs for floats and reals; integers do not change; a null stays null
//   Signum           -1, 0 or 1 as an int; -1 for a null
//   the others       floats; null if there is no result, such as for the root of -1; minus infinity
//                    for the logarithm of 0
//
// Errors: `type` for symbols, guids and types that the reference excludes (code.kx.com/q/ref:
//         floor, sqrt, signum), `nyi` for the floor of text and for functions of datetimes.
// Cost:   one pass in blocks.
absl::StatusOr<Value> Floor(const Value& x, Budget& budget);
absl::StatusOr<Value> Ceiling(const Value& x, Budget& budget);
absl::StatusOr<Value> Signum(const Value& x, Budget& budget);
absl::StatusOr<Value> SquareRoot(const Value& x, Budget& budget);
absl::StatusOr<Value> Exponential(const Value& x, Budget& budget);
absl::StatusOr<Value> NaturalLogarithm(const Value& x, Budget& budget);
absl::StatusOr<Value> Reciprocal(const Value& x, Budget& budget);
absl::StatusOr<Value> Sine(const Value& x, Budget& budget);
absl::StatusOr<Value> Cosine(const Value& x, Budget& budget);
absl::StatusOr<Value> Tangent(const Value& x, Budget& budget);
absl::StatusOr<Value> ArcSine(const Value& x, Budget& budget);
absl::StatusOr<Value> ArcCosine(const Value& x, Budget& budget);
absl::StatusOr<Value> ArcTangent(const Value& x, Budget& budget);

}  // namespace tickstack::query
