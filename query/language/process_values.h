#pragma once

// Facts about the process that evaluates a query: `.z`, and the system commands that report, such
// as `\p` and `\a`. Nothing here changes the process or the host, or reads unrelated files.

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

// Returns the value of a name such as `.z.p` or `.z.w`; nullopt if there is no such name.
std::optional<Value> FindProcessValue(Context& context, std::string_view name);
std::vector<std::string> ProcessValueNames();

// gtime and ltime: converts times from the machine's time zone to UTC, or from UTC to that zone.
// Times are timestamps or datetimes, an atom or a vector; nulls and infinities do not change.
// Errors: `type` for other values.
enum class Clocks { kUtcOfLocal, kLocalOfUtc };
absl::StatusOr<Value> OtherClock(const Value& times, Clocks clocks, Budget& budget);

// `system x`, which is the same as `\x`: runs the commands that report on tables, names and the
// process. Settings of `\d` and `\c` are valid until the request ends. Other commands, such
// as `l .` of an HDB, are passed to Environment::Call.
//
// Errors: `nyi` with the command if the process does not have it.
absl::StatusOr<Term> RunSystemCommand(Context& context, std::string_view command);

}  // namespace tickstack::query
