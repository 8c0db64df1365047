#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::query {

enum class TokenKind {
  kNumber,    // One numeric word, `-` included: `12`, `-0W`, `2013.10.07D09:30`.
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
  std::string_view text;  // Into the source.
  size_t position = 0;    // Byte offset in the source.
  bool after_blank = false;

  bool Is(TokenKind k, std::string_view t) const { return kind == k && text == t; }
};

// Cuts a text into tokens, the last one kEnd. A minus belongs to the number behind it where q reads
// it so: not after something that has a value, unless a blank stands before it (`1 -1` is a vector,
// `x-1` a subtraction). `/` after a blank or at the start comments out the rest of the line.
//
// Errors: as q's: `char` for one that starts no token, `"` for what never ends.
// Cost:   one pass; tokens point into `source`.
absl::StatusOr<std::vector<Token>> Tokenise(std::string_view source);

}  // namespace tickstack::query
