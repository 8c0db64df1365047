#pragma once

// Numbers and texts as the report shows them. All texts from files go through EscapeHtml.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tickstack::loadtest::report {

inline constexpr std::string_view kNotMeasured = "n/a";

// For text and for attributes in double quotes: & < > " ' as entities. What is not UTF-8, and
// control characters but for newlines, become U+FFFD; so do the marks that turn the direction of
// text, with which a name could rearrange the line that it stands in.
std::string EscapeHtml(std::string_view text);

// JSON for the inside of a <script>: no `<`, so no `</script>` and no `<!--`. It must be ASCII
// already, as nlohmann's dump makes it on request; that leaves no U+2028 either.
std::string EscapeForScript(std::string_view json);

// Three digits and a unit that fits: `850 us`, `30.0 ms`, `1.04 s`, `4 min 45 s`.
std::string DurationText(double ms);
// A time that somebody chose: `50 ms`, `2.4 s`, `30 min`.
std::string SettingText(double ms);
// `171 MiB`.
std::string BytesText(double bytes);
// `1,234,567`.
std::string CountText(double count);
// `1.02x`, `0.85x`, `340x`, `< 0.01x`; not measured if either is missing or the second is 0.
std::string RatioText(std::optional<double> value, std::optional<double> of);
// `1 stack`, `2 stacks`.
std::string Plural(int64_t count, std::string_view noun);

// Each of the above, or kNotMeasured.
std::string DurationText(std::optional<double> ms);
std::string BytesText(std::optional<double> bytes);
std::string CountText(std::optional<double> count);

}  // namespace tickstack::loadtest::report
