#include "loadtest/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/human_text.h"
#include "table/utf8.h"

namespace tickstack::loadtest::report {
namespace {

// The code point of one character in UTF-8.
uint32_t CodePoint(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  uint32_t value = first & (0xffu >> (character.size() + 1));
  for (const char c : character.substr(1)) value = value << 6 | (static_cast<uint32_t>(c) & 0x3fu);
  return value;
}

bool IsShown(uint32_t c) {
  if (c < 0x20) return c == '\n';
  if (c >= 0x7f && c < 0xa0) return false;
  const bool turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e ||
                     c == 0x200f || c == 0x061c;
  return !turns;
}

}  // namespace

std::string SafeHtml(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const size_t bytes = Utf8Length(text);
    if (bytes > 0 && IsShown(CodePoint(text.substr(0, bytes)))) {
      shown += text.substr(0, bytes);
    } else {
      shown += kReplacementCharacter;
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return EscapeHtml(shown);
}

std::string EscapeForScript(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string SettingText(double ms) {
  const double size = std::abs(ms);
  if (size < 1000 || size >= 60'000) return size < 1000 ? fmt::format("{:g} ms", ms) : MsText(ms);
  return fmt::format("{:g} s", ms / 1e3);
}

std::string RatioText(std::optional<double> value, std::optional<double> of) {
  if (!value || !of || *of <= 0 || *value < 0) return std::string(kNotMeasured);
  const double ratio = *value / *of;
  if (*value > 0 && ratio < 0.005) return "< 0.01x";
  return ratio < 10 ? fmt::format("{:.2f}x", ratio) : fmt::format("{:.0f}x", ratio);
}

std::string Plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", Thousands(count), noun, count == 1 ? "" : "s");
}

std::string DurationText(std::optional<double> ms) {
  return ms ? MsText(*ms) : std::string(kNotMeasured);
}
std::string BytesText(std::optional<double> bytes) {
  return bytes ? tickstack::BytesText(*bytes) : std::string(kNotMeasured);
}
std::string CountText(std::optional<double> count) {
  if (!count) return std::string(kNotMeasured);
  // A number from a file may be any.
  return std::abs(*count) < 0x1p53 ? Thousands(std::llround(*count))
                                   : fmt::format("{:.3g}", *count);
}

}  // namespace tickstack::loadtest::report
