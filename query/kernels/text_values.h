#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::query {

// Parses a text as a value of a type, like `"J"$text` for longs. Blanks around it are ignored. A
// text that is no value of the type gives the type's null, as in q. The texts t, T, y, Y, x, X and
// 1 are the boolean 1b, and all others are 0b. date_texts.h has the forms of dates. The date of a
// timestamp has dots, dashes or no separators, and is followed by `D`, `T`, a dash or a blank
// before the time.
//
// Errors: `nyi` for guids, bytes, months and datetimes.
absl::StatusOr<Value> ReadText(Type type, std::string_view text);

}  // namespace tickstack::query
