#pragma once

// Numbers and texts as the report shows them. All texts from files pass through EscapeHtml.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tickstack::loadtest::report {

inline constexpr std::string_view kNotMeasured = "n/a";

// Escapes & < > " ' for text and for attributes in double quotes. Invalid UTF-8, control characters
// other than newlines, and marks that change the direction of text become U+FFFD: with such a mark
// a name could rearrange the line around it.
std::string EscapeHtml(std::string_view text);

// Escapes JSON for the inside of a <script>: without `<` there is no `</script>` and no `<!--`. The
// text must be ASCII already, as nlohmann's dump writes it on request, so it has no U+2028 either.
std::string EscapeForScript(std::string_view json);

// Returns three digits and a fitting unit: `850 us`, `30.0 ms`, `1.04 s`, `4 min 45 s`.
std::string DurationText(double ms);
// Returns a time as a person would set it: `50 ms`, `2.4 s`, `30 min`.
std::string SettingText(double ms);
// Returns bytes in a fitting unit: `171 MiB`.
std::string BytesText(double bytes);
// Returns a number with separators: `1,234,567`.
std::string CountText(double count);
// Returns `1.02x`, `0.85x`, `340x` or `< 0.01x`; kNotMeasured if a value is missing or the second
// is 0.
std::string RatioText(std::optional<double> value, std::optional<double> of);
// Returns a count with its noun: `1 stack`, `2 stacks`.
std::string Plural(int64_t count, std::string_view noun);

// The same as above, or kNotMeasured for nullopt.
std::string DurationText(std::optional<double> ms);
std::string BytesText(std::optional<double> bytes);
std::string CountText(std::optional<double> count);

}  // namespace tickstack::loadtest::report
