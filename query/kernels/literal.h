#pragma once

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the value of numeric words. One word is an atom, or a vector for words such as `101b` and
// `0x0a0b`. Several words, which blanks separate, are a vector of one type. The type is that of the
// words that show one (`2h`, `0Np`, `09:30`, `2013.10.07`), and plain integers adopt it. If no word
// shows a type, it is long, or float if a word has a point or an exponent.
//
//   1 2.5 0N -> floats     1 2 3h -> shorts     09:30 16:00 -> minutes     0D00:00:01 -> timespan
//
// Errors: the word itself, as in q, if it is no number; `type` if the words' types conflict.
absl::StatusOr<Value> ParseNumbers(std::span<const std::string_view> words);

// Returns the value of a string literal: a char atom if it is one character, otherwise a string.
// `inside` is the text between the quotes. Its escapes are \" \\ \n \r \t \ooo.
absl::StatusOr<Value> ParseString(std::string_view inside);

}  // namespace tickstack::query
