#pragma once

// Parses texts such as "25Dec2000", for `"D"$x` and the like: dates, times and addresses in forms
// that q's literals do not have.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tickstack::query {

// Returns the days since 2000.01.01 of a date in one of these forms: `20001225`, `25Dec2000`, and
// with one of the separators `/`, `.` and `-`: `2000/12/25`, `2000/Dec/25`, `12/25/2000`,
// `Dec/25/2000`. nullopt for any other text. Errors: `nyi` for a year of two digits, whose century
// the reference does not define.
absl::StatusOr<std::optional<int32_t>> ReadDateText(std::string_view text);

// Returns the nanoseconds since 2000.01.01 for a text that is a number of seconds since 1970: 9 to
// 11 digits, with up to nine decimals. nullopt for any other text, and for times outside a
// timestamp's range.
std::optional<int64_t> ReadUnixSeconds(std::string_view text);

// Returns a time of day in the form of a literal, with colons. Without colons it is `hh`, `hhmm` or
// `hhmmss`, with a fraction of a second after a point or after six digits. A text with a colon is
// returned unchanged, since its literal is checked later. nullopt for any other text.
std::optional<std::string> ReadClockText(std::string_view text);

// Returns the number whose bytes are the four parts of an IPv4 address such as `192.168.1.34`;
// nullopt for any other text.
std::optional<int32_t> ReadInternetAddress(std::string_view text);

}  // namespace tickstack::query
