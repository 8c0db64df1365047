#pragma once

// Divides the text of a q expression into tokens, for the parser.

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::query {

enum class TokenKind {
  kNumber,    // One numeric word with its `-`: `12`, `-0W`, `2013.10.07D09:30`.
  kString,    // With its quotes.
  kSymbol,    // One or more names without a blank between: `a`b.
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

// Divides a text into tokens, the last one kEnd. A minus belongs to the number after it as in q:
// not if it follows something that has a value, unless there is a blank before it (`1 -1` is a
// vector, `x-1` a subtraction). `/` after a blank or at the start comments out the rest of the
// line.
//
// Errors: as in q: `char` for a character that starts no token, `"` for a string without end.
// Cost:   one pass; tokens point into `source`.
absl::StatusOr<std::vector<Token>> Tokenise(std::string_view source);

}  // namespace tickstack::query
