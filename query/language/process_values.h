#pragma once

// What a query can ask about the process that evaluates it: `.z`, and the system commands that only
// report, such as `\p` and `\a`. Nothing here changes the process, reads unrelated files, or
// affects the host.

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

// Returns the value of `.z.p`, `.z.K`, `.z.w` ...; nullopt if it is not one of them.
std::optional<Value> FindProcessValue(Context& context, std::string_view name);
std::vector<std::string> ProcessValueNames();

// gtime and ltime: the UTC of times on the machine's own clock, and the other way round. Times are
// timestamps or datetimes, an atom or a vector; nulls and infinities stay. Errors: `type`.
enum class Clocks { kUtcOfLocal, kLocalOfUtc };
absl::StatusOr<Value> OtherClock(const Value& times, Clocks clocks, Budget& budget);

// `system x`, which is `\x`: the console's commands that report on tables, names and the process.
// `\d`, `\c` and `\P` are valid until the request ends. A command that the process defines as a
// function (`l .` of an HDB) is passed to it.
//
// Errors: `nyi` with the command for all others.
absl::StatusOr<Term> RunSystemCommand(Context& context, std::string_view command);

}  // namespace tickstack::query
