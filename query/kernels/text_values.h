#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::query {

// The value that a text spells: `"J"$text`. Blanks around it do not count. What is no value of the
// type is its null, as in q; a boolean is one of t, T, y, Y, x, X and 1. Dates may have dashes or
// no separator (2020-03-09, 20200309), between a date and a time `D`, `T` or a blank stands.
//
// Errors: nyi for guids, bytes, months and datetimes.
absl::StatusOr<Value> ReadText(Type type, std::string_view text);

}  // namespace tickstack::query
