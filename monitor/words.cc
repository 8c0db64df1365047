#include "monitor/words.h"

#include <fmt/format.h>

namespace tickstack::monitor {

std::string DurationText(int64_t ns) {
  const auto value = static_cast<double>(ns);
  if (value < 1e3) return fmt::format("{} ns", ns);
  if (value < 1e6) return fmt::format("{:.3g} us", value / 1e3);
  if (value < 1e9) return fmt::format("{:.3g} ms", value / 1e6);
  return fmt::format("{:.4g} s", value / 1e9);
}

std::string Thousands(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<int>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

}  // namespace tickstack::monitor
