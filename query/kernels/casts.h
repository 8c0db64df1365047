#pragma once

// `x$y`: converts values to another type, extracts parts of times, and parses text.

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/kernels/time_parts.h"
#include "table/value.h"

namespace tickstack::query {

// The target of a cast: a type, or a part of a time.
struct CastTarget {
  Type type = Type::kList;
  std::optional<TimePart> part;
};

// Returns the target with a name such as `long` or `hh`; nullopt if there is none.
std::optional<CastTarget> FindCastTarget(std::string_view name);

// Converts a column.
//
//   to numbers     floats are rounded, halves up; a value out of range becomes an infinity; a null
//                  stays null
//   to boolean     whether the number is not 0
//   to byte, char  the lowest byte of the number
//   temporals      an instant becomes its date, month or time of day; a time of day is converted to
//                  the other unit, rounded down; to and from numbers, the underlying number
//
// Errors: `type` if there is no such conversion, such as from symbols to numbers; `nyi` from a time
//         of day to a date; and those of the budget.
// Cost:   one pass in blocks; the column is not copied first.
absl::StatusOr<Value> CastColumn(const Slice& slice, CastTarget target, Budget& budget);

// Returns `x$y` as in q. x is a symbol, letter or number that names a target. With a letter in
// upper case or a negative number, y is a text that is parsed. x can also be a list of these, one
// for each item of y; for an atom y, each of them is applied to y.
absl::StatusOr<Value> Cast(const Value& x, const Value& y, Budget& budget);
// Returns `x$y` for a column y, which is copied only if necessary.
absl::StatusOr<Value> Cast(const Value& x, const Slice& y, Budget& budget);

}  // namespace tickstack::query
