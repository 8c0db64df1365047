#include "loadtest/words.h"

#include <fmt/format.h>

#include <cmath>

namespace tickstack::loadtest {

std::string Thousands(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<ptrdiff_t>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    text.insert(static_cast<size_t>(at), 1, ',');
  }
  return text;
}

std::string BytesText(uint64_t bytes) {
  auto value = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  return fmt::format("{:.3g} {}", value < 100 ? value : std::round(value), unit);
}

std::string MsText(double ms) {
  if (ms < 1) return fmt::format("{:.0f} us", ms * 1e3);
  if (ms < 100) return fmt::format("{:.1f} ms", ms);
  if (ms < 1'000) return fmt::format("{:.0f} ms", ms);
  if (ms < 120'000) return fmt::format("{:.2f} s", ms / 1e3);
  const auto seconds = static_cast<int64_t>(std::round(ms / 1e3));
  return fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

}  // namespace tickstack::loadtest
