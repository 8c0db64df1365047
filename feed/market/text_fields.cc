#include "feed/market/text_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "base/time.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kNsDigits = 9;
// A double has all whole numbers of this many digits, and these powers of ten.
constexpr size_t kExactDigits = 15;
constexpr std::array<double, kExactDigits + 1> kExactTens = {
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

template <typename Number>
std::optional<Number> ParseWhole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Returns the nearest float to digits with at most one point, if they are few enough: both numbers
// of the quotient are exact, so it is rounded once. nullopt for all other texts.
std::optional<double> ParseShortDecimal(std::string_view text) {
  if (text.size() > kExactDigits + 1) return std::nullopt;
  uint64_t number = 0;
  size_t digits = 0, point = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsDigit(text[i])) {
      number = number * 10 + static_cast<uint64_t>(text[i] - '0');
      ++digits;
    } else if (text[i] == '.' && point == text.size()) {
      point = i;
    } else {
      return std::nullopt;
    }
  }
  if (digits == 0 || digits > kExactDigits) return std::nullopt;
  const size_t decimals = point == text.size() ? 0 : text.size() - 1 - point;
  return static_cast<double>(number) / kExactTens[decimals];
}

}  // namespace

void SplitFields(std::string_view line, char delimiter, std::vector<std::string_view>& fields) {
  fields.clear();
  while (true) {
    const size_t end = line.find(delimiter);
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + 1);
  }
}

std::optional<int64_t> ParseInteger(std::string_view text) { return ParseWhole<int64_t>(text); }

std::optional<double> ParseDecimal(std::string_view text) {
  if (const std::optional<double> number = ParseShortDecimal(text)) return number;
  const size_t sign = text.starts_with('-') ? 1 : 0;
  // std::from_chars also takes names, such as `inf`.
  if (text.size() <= sign || !(IsDigit(text[sign]) || text[sign] == '.')) return std::nullopt;
  return ParseWhole<double>(text);
}

std::optional<int64_t> ParseSecondsNs(std::string_view text) {
  const size_t point = std::min(text.find('.'), text.size());
  if (point == 0 || !IsDigit(text[0])) return std::nullopt;
  const std::optional<int64_t> seconds = ParseInteger(text.substr(0, point));
  if (!seconds || *seconds > kNsPerDay / kNsPerSecond) return std::nullopt;
  if (point == text.size()) return *seconds * kNsPerSecond;
  const std::string_view fraction = text.substr(point + 1);
  if (fraction.empty() || !std::ranges::all_of(fraction, IsDigit)) return std::nullopt;
  int64_t ns = 0;
  for (size_t i = 0; i < kNsDigits; ++i) {
    ns = ns * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  }
  if (fraction.size() > kNsDigits && fraction[kNsDigits] >= '5') ++ns;
  return *seconds * kNsPerSecond + ns;
}

}  // namespace tickstack::feed::market
