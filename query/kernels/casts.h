#pragma once

// `x$y`: converts values to another type, to parts of times, and from text.

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

// Returns the target with a name (`long`, `hh`); nullopt if there is none.
std::optional<CastTarget> FindCastTarget(std::string_view name);

// Converts a column.
//
//   numbers    floats are rounded, halves up; values out of range become an infinity; nulls stay
//              nulls; boolean: whether it is not 0; byte and char: the lowest byte
//   temporals  to each other by time: an instant's date, month or time of day; a time of day in
//              another unit, rounded down. To and from numbers: the underlying number.
//
// Errors: `type` for a value without such a form (a symbol as a number), `nyi` for a time of day as
//         a date, and those of the budget.
// Cost:   one pass in blocks; the column is not copied first.
absl::StatusOr<Value> CastColumn(const Slice& slice, CastTarget target, Budget& budget);

// `x$y` as in q. x is a symbol, letter or number that names a target; a letter in upper case, or a
// number below zero, parses text. It can also be a list of these: one for each item of y, or all
// for an atom y.
absl::StatusOr<Value> Cast(const Value& x, const Value& y, Budget& budget);
// Copies y if necessary.
absl::StatusOr<Value> Cast(const Value& x, const Slice& y, Budget& budget);

}  // namespace tickstack::query
