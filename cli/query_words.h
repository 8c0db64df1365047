#pragma once

// What a shell must know of q's text: where a name begins that is to be completed, and whether an
// expression goes on in the next line. Plain functions.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack {

// The name that ends at the end of `text` begins here: letters, digits, `_` and `.`. Behind a
// backtick a name is a symbol, and completes as one. text.size() if none does.
size_t BeginOfWord(std::string_view text);

// Whether brackets or a string are still open. What closes more than was opened is not: it is for
// the server to say so.
bool GoesOn(std::string_view text);

// The statements of a script: a line each, and lines that begin with a blank belong to the one
// before. Lines that begin with a slash, and empty ones, are none.
struct Statement {
  size_t line = 0;  // Its first, from 1.
  std::string text;
};
std::vector<Statement> StatementsOf(std::string_view script);

// The text of a script's file. kInvalidArgument for what is no file, kResourceExhausted beyond 16
// MiB; each with the path.
absl::StatusOr<std::string> ReadScript(const std::string& path);

// Of sorted words those that begin with `begin`.
std::vector<std::string> WordsThatBegin(const std::vector<std::string>& sorted,
                                        std::string_view begin);

}  // namespace tickstack
