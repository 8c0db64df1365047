#pragma once

// What a query can ask of the process that evaluates it: `.z`, and the system commands that only
// report, `\p`, `\a` and their like. Nothing here changes the process, reads a file that is not
// about it, or reaches the host.

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

// `.z.p`, `.z.K`, `.z.w` ...; nullopt: not one of them.
std::optional<Value> FindProcessValue(Context& context, std::string_view name);
std::vector<std::string> ProcessValueNames();

// `system x`, which is `\x`: of the console, the commands that say something about tables, names
// and the process. `\d`, `\c` and `\P` hold until the request ends. A command that the process has
// as a function (`l .` of an HDB) is its.
//
// Errors: `nyi` with the command for all others.
absl::StatusOr<Term> RunSystemCommand(Context& context, std::string_view command);

}  // namespace tickstack::query
