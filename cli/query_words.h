#pragma once

// The part of q's syntax that a shell must know: where a name to complete begins, and whether an
// expression continues in the next line. Plain functions.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::cli {

// Returns where the name at the end of `text` begins: letters, digits, `_` and `.`. A name after a
// backtick is a symbol, and is completed as one. text.size() if there is no name.
size_t BeginOfWord(std::string_view text);

// True if brackets or a string are still open. Surplus closing brackets return false, since the
// server reports them.
bool IsIncomplete(std::string_view text);

// A statement of a script: one line; a line that begins with a blank continues the previous
// statement. Empty lines, and lines that begin with a slash, are skipped.
struct Statement {
  size_t line = 0;  // Number of its first line, from 1.
  std::string text;
};
std::vector<Statement> StatementsOf(std::string_view script);

// Returns the text of a script. kInvalidArgument if it is not a regular file, kResourceExhausted
// beyond 16 MiB; both with the path.
absl::StatusOr<std::string> ReadScript(const std::string& path);

// Returns the words that start with `begin`.
std::vector<std::string> WordsThatBegin(const std::vector<std::string>& sorted,
                                        std::string_view begin);

}  // namespace tickstack::cli
