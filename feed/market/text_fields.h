#pragma once

// Fields of a line of text, and numbers in them. A number is the whole field: blanks, signs `+` and
// other characters around it do not fit.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tickstack::feed::market {

// Replaces `fields` by the parts of a line between delimiters: one more than it has delimiters.
void SplitFields(std::string_view line, char delimiter, std::vector<std::string_view>& fields);

// Returns the number; nullopt if the text is none, or exceeds a long.
std::optional<int64_t> ParseInteger(std::string_view text);

// Returns the float that is nearest to a decimal number such as `0.0123`, `-5` or `1e-7`; nullopt
// for other texts, also `inf` and `nan`, and for numbers that no finite float is near to.
std::optional<double> ParseDecimal(std::string_view text);

// Returns ns of a number of seconds with any number of decimals, such as `34200.00426064`, rounded
// half up. nullopt for other texts, and for more than a day.
std::optional<int64_t> ParseSecondsNs(std::string_view text);

}  // namespace tickstack::feed::market
