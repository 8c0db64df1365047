#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the value that a text spells: `"J"$text`. Blanks around it are ignored. A text that is no
// value of the type gives its null, as in q; a boolean is one of t, T, y, Y, x, X and 1. Dates may
// have dashes or no separator (2020-03-09, 20200309); between a date and a time there is `D`, `T`
// or a blank.
//
// Errors: nyi for guids, bytes, months and datetimes.
absl::StatusOr<Value> ReadText(Type type, std::string_view text);

}  // namespace tickstack::query
