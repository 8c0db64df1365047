#pragma once

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::query {

// The value that numeric words stand for: one word an atom (or what `101b` and `0x0a0b` spell out),
// several words separated by blanks a vector of one type. The type is that of the words which have
// one (`2h`, `0Np`, `09:30`, `2013.10.07`); plain integers adopt it; without any the type is long,
// or float as soon as one word has a point or an exponent.
//
//   1 2.5 0N -> floats     1 2 3h -> shorts     09:30 16:00 -> minutes     0D00:00:01 -> timespan
//
// Errors: the word itself, as q signals it, if it is no number; `type` if the words do not mix.
absl::StatusOr<Value> ParseNumbers(std::span<const std::string_view> words);

// The inside of a string literal with its escapes resolved (\" \\ \n \r \t \ooo): a char atom if it
// is one character, otherwise a string.
absl::StatusOr<Value> ParseString(std::string_view inside);

}  // namespace tickstack::query
