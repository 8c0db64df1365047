#include "loadtest/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tickstack::loadtest::report {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD.

// The length in bytes and the code point of the UTF-8 sequence at the start of `text`; 0 bytes if
// it is invalid.
struct CodePoint {
  size_t bytes = 0;
  uint32_t value = 0;
};

CodePoint FirstCodePoint(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {1, first};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  uint32_t value = first & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    value = value << 6 | (byte & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kLeast[bytes] || value > 0x10ffff || surrogate) return {};
  return {bytes, value};
}

bool IsShown(uint32_t c) {
  if (c < 0x20) return c == '\n';
  if (c >= 0x7f && c < 0xa0) return false;
  const bool turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e ||
                     c == 0x200f || c == 0x061c;
  return !turns;
}

// Keeps trailing zeros, so that columns line up: `30.0`, `1.00`, `200`.
std::string ThreeDigits(double number) {
  const double size = std::abs(number);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return fmt::format("{:.{}f}", number, decimals);
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = FirstCodePoint(text);
    if (c.bytes == 0 || !IsShown(c.value)) {
      out += kReplacement;
    } else if (c.value == '&') {
      out += "&amp;";
    } else if (c.value == '<') {
      out += "&lt;";
    } else if (c.value == '>') {
      out += "&gt;";
    } else if (c.value == '"') {
      out += "&quot;";
    } else if (c.value == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(std::max<size_t>(c.bytes, 1));
  }
  return out;
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

std::string DurationText(double ms) {
  const double size = std::abs(ms);
  if (size == 0) return "0 ms";
  if (size < 0.9995e-3) return ThreeDigits(ms * 1e6) + " ns";
  if (size < 0.9995) return ThreeDigits(ms * 1e3) + " us";
  if (size < 999.5) return ThreeDigits(ms) + " ms";
  if (size < 59'950) return ThreeDigits(ms / 1e3) + " s";
  const auto seconds = std::llround(ms / 1e3);
  const bool hours = size >= 3'600'000;
  const auto most = hours ? seconds / 3600 : seconds / 60;
  const auto rest = std::abs(hours ? seconds / 60 % 60 : seconds % 60);
  std::string text = fmt::format("{} {}", most, hours ? "h" : "min");
  if (rest > 0) text += fmt::format(" {} {}", rest, hours ? "min" : "s");
  return text;
}

std::string SettingText(double ms) {
  const double size = std::abs(ms);
  if (size < 1000 || size >= 60'000)
    return size < 1000 ? fmt::format("{:g} ms", ms) : DurationText(ms);
  return fmt::format("{:g} s", ms / 1e3);
}

std::string BytesText(double bytes) {
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (std::abs(bytes) < 1000) break;  // Below 1,000, since three digits are enough.
    bytes /= 1024;
    unit = larger;
  }
  return ThreeDigits(bytes) + " " + unit;
}

std::string CountText(double count) {
  std::string digits = fmt::format("{:.0f}", count);
  for (auto at = static_cast<int>(digits.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string RatioText(std::optional<double> value, std::optional<double> of) {
  if (!value || !of || *of <= 0 || *value < 0) return std::string(kNotMeasured);
  const double ratio = *value / *of;
  if (*value > 0 && ratio < 0.005) return "< 0.01x";
  return ratio < 10 ? fmt::format("{:.2f}x", ratio) : fmt::format("{:.0f}x", ratio);
}

std::string Plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", CountText(static_cast<double>(count)), noun, count == 1 ? "" : "s");
}

std::string DurationText(std::optional<double> ms) {
  return ms ? DurationText(*ms) : std::string(kNotMeasured);
}
std::string BytesText(std::optional<double> bytes) {
  return bytes ? BytesText(*bytes) : std::string(kNotMeasured);
}
std::string CountText(std::optional<double> count) {
  return count ? CountText(*count) : std::string(kNotMeasured);
}

}  // namespace tickstack::loadtest::report
