#include "base/human_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

namespace tickstack {
namespace {

// Trailing zeros stay, so that columns line up: `30.0`, `1.00`, `200`.
std::string ThreeDigits(double number) {
  const double size = std::abs(number);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return fmt::format("{:.{}f}", number, decimals);
}

}  // namespace

std::string Thousands(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<ptrdiff_t>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    text.insert(static_cast<size_t>(at), 1, ',');
  }
  return text;
}

std::string BytesText(double bytes) {
  if (std::abs(bytes) < 1000) return fmt::format("{:.0f} B", bytes);
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (std::abs(bytes) < 999.5) break;  // From 1,000 on the next unit takes fewer digits.
    bytes /= 1024;
    unit = larger;
  }
  return fmt::format("{} {}", ThreeDigits(bytes), unit);
}

std::string BytesText(uint64_t bytes) { return BytesText(static_cast<double>(bytes)); }

std::string MsText(double ms) {
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

std::string NsText(int64_t ns) { return MsText(static_cast<double>(ns) / 1e6); }

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace tickstack
