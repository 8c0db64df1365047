#pragma once

// Formats numbers and texts for the report. All texts from files go through SafeHtml.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tickstack::loadtest::report {

inline constexpr std::string_view kNotMeasured = "n/a";

// Escapes texts from files, which may be any bytes, like EscapeHtml of base/human_text.h. In
// addition, bytes that are not UTF-8, and control characters except newlines, become U+FFFD; so do
// the marks that change the direction of text, with which a name could rearrange its line.
std::string SafeHtml(std::string_view text);

// Escapes JSON for the inside of a <script>: without `<` there is no `</script>` and no `<!--`. The
// text must be ASCII already, as nlohmann's dump writes it on request, so it has no U+2028 either.
std::string EscapeForScript(std::string_view json);

// Returns a time as a person would set it: `50 ms`, `2.4 s`, `30 min`.
std::string SettingText(double ms);
// Returns `1.02x`, `0.85x`, `340x` or `< 0.01x`; kNotMeasured if a value is missing or the second
// is 0.
std::string RatioText(std::optional<double> value, std::optional<double> of);
// Returns a count with its noun: `1 stack`, `2 stacks`.
std::string Plural(int64_t count, std::string_view noun);

// Return the text of MsText, BytesText or Thousands (base/human_text.h); kNotMeasured without a
// value.
std::string DurationText(std::optional<double> ms);
std::string BytesText(std::optional<double> bytes);
std::string CountText(std::optional<double> count);

}  // namespace tickstack::loadtest::report
