#pragma once

// `x$y`: values in another type, parts of times, and values out of text.

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "query/kernels/time_parts.h"
#include "table/value.h"

namespace tickstack::query {

// What a cast makes: a type, or a part of a time.
struct CastTarget {
  Type type = Type::kList;
  std::optional<TimePart> part;
};

// The target with a name (`long`, `hh`); nullopt: there is none.
std::optional<CastTarget> FindCastTarget(std::string_view name);

// A column in another type.
//
//   numbers    floats are rounded, halves up; what does not fit becomes an infinity; nulls stay
//              nulls; boolean: is it not 0; byte and char: the lowest byte
//   temporals  to each other by time: an instant's date, month or time of day; a time of day in
//              another unit, rounded down. To and from numbers: the number behind it.
//
// Errors: `type` for what has no such form (a symbol as a number), `nyi` for a time of day as a
//         date, and what the budget says.
// Cost:   one pass in blocks; the column is not copied first.
absl::StatusOr<Value> CastColumn(const Slice& slice, CastTarget target, Budget& budget);

// `x$y` as q has it: x is a symbol, letter or number that names a target, in upper case or below
// zero one to read from text; or a list of these, one for each item of y or all for an atom y.
absl::StatusOr<Value> Cast(const Value& x, const Value& y, Budget& budget);
absl::StatusOr<Value> Cast(const Value& x, const Slice& y, Budget& budget);  // Copies y if it must.

}  // namespace tickstack::query
