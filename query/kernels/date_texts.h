#pragma once

// Dates and times of day as people and files write them, for `"D"$"25Dec2000"`: forms that q's
// literals do not have.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tickstack::query {

// Returns the days since 2000.01.01 of `2000.12.25`, `2000-12-25`, `20001225`, `2000/12/25`,
// `2000/Dec/25`, `12/25/2000`, `Dec/25/2000`, `25Dec2000`; nullopt for anything else. Errors: nyi
// for a year of two digits, whose century the reference does not define.
absl::StatusOr<std::optional<int32_t>> ReadDateText(std::string_view text);

// Returns the nanoseconds since 2000.01.01 of a text of 9 to 11 digits, seconds since 1970, with up
// to nine decimals; nullopt for anything else, and for times outside a timestamp's range.
std::optional<int64_t> ReadUnixSeconds(std::string_view text);

// Returns `hhmm`, `hhmmss` and a fraction's digits after them with the colons and the point of a
// literal; any other text unchanged.
std::string WithColons(std::string_view text);

// Returns the number whose bytes are the four parts of `192.168.1.34`.
std::optional<int32_t> ReadInternetAddress(std::string_view text);

}  // namespace tickstack::query
