#pragma once

// Divides the text of a q expression into tokens, for the parser.

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::query {

enum class TokenKind {
  kNumber,    // One numeric word, with its minus: `12`, `-0W`, `2013.10.07D09:30`.
  kString,    // A string with its quotes.
  kSymbol,    // One or more symbols without a blank between them: `a`b.
  kName,      // x, max, .u.sub
  kOperator,  // + - * % = <> < > <= >= , ~ ! # _ @ . ? $ & | ^ : :: and the iterators ' / \ ': /:
              // \:
  kOpen,      // ( [ {
  kClose,     // ) ] }
  kSemicolon,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // Points into the source.
  size_t position = 0;    // Byte offset in the source.
  bool after_blank = false;

  bool Is(TokenKind k, std::string_view t) const { return kind == k && text == t; }
};

// Divides a text into tokens; the last one is kEnd. A minus directly before a number is part of the
// number, as in q, unless it directly follows something that has a value: `1 -1` is a vector, and
// `x-1` is a subtraction. A `/` after a blank, or at the start of a line, begins a comment that
// ends with the line.
//
// Errors: as in q, `char` for a character that starts no token, `"` for a string without end.
// Cost:   one pass; tokens point into `source`.
absl::StatusOr<std::vector<Token>> Tokenise(std::string_view source);

}  // namespace tickstack::query
