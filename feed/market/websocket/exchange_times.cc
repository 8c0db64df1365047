#include "feed/market/websocket/exchange_times.h"

#include <algorithm>

#include "base/time.h"
#include "feed/market/text_fields.h"

namespace tickstack::feed::market {
namespace {

constexpr int64_t kLatestUnixSecond = 7'258'118'400;  // The beginning of 2200.
constexpr size_t kFractionDigits = 9;

bool AreTimeDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Returns the ns of the digits behind a decimal point.
std::optional<int64_t> ParseFraction(std::string_view digits) {
  if (!AreTimeDigits(digits)) return std::nullopt;
  int64_t ns = 0;
  for (size_t i = 0; i < kFractionDigits; ++i) {
    ns = ns * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  }
  return ns;
}

// Returns the number of two digits, if it is less than `limit`.
std::optional<int64_t> ParseTwoDigits(std::string_view text, int64_t limit) {
  if (!AreTimeDigits(text) || text.size() != 2) return std::nullopt;
  const int64_t number = (text[0] - '0') * 10 + (text[1] - '0');
  if (number >= limit) return std::nullopt;
  return number;
}

}  // namespace

std::optional<int64_t> ParseUnixSeconds(std::string_view text) {
  const size_t point = std::min(text.find('.'), text.size());
  if (!AreTimeDigits(text.substr(0, point))) return std::nullopt;
  const std::optional<int64_t> seconds = ParseInteger(text.substr(0, point));
  if (!seconds || *seconds >= kLatestUnixSecond) return std::nullopt;
  int64_t ns = *seconds * kNsPerSecond - kUnixNsOfKdbEpoch;
  if (point < text.size()) {
    const std::optional<int64_t> fraction = ParseFraction(text.substr(point + 1));
    if (!fraction) return std::nullopt;
    ns += *fraction;
  }
  return ns;
}

std::optional<int64_t> ParseUnixUnits(std::string_view text, int64_t unit_ns) {
  const std::optional<int64_t> units = ParseInteger(text);
  if (!units || *units < 0 || *units >= kLatestUnixSecond * (kNsPerSecond / unit_ns)) {
    return std::nullopt;
  }
  return *units * unit_ns - kUnixNsOfKdbEpoch;
}

std::optional<int64_t> ParseIsoTime(std::string_view text) {
  constexpr size_t kDateBytes = 10, kSecondBytes = 19;
  if (text.size() <= kSecondBytes || !text.ends_with('Z')) return std::nullopt;
  text.remove_suffix(1);
  if (text[4] != '-' || text[kDateBytes] != 'T' || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const std::optional<int32_t> day = ParseDate(text.substr(0, kDateBytes));
  const std::optional<int64_t> hour = ParseTwoDigits(text.substr(11, 2), 24);
  const std::optional<int64_t> minute = ParseTwoDigits(text.substr(14, 2), 60);
  const std::optional<int64_t> second = ParseTwoDigits(text.substr(17, 2), 60);
  if (!day || !hour || !minute || !second) return std::nullopt;
  constexpr int64_t kUnixDayOfKdbEpoch = kUnixNsOfKdbEpoch / kNsPerDay;
  constexpr int64_t kLatestDay =
      kLatestUnixSecond / (kNsPerDay / kNsPerSecond) - kUnixDayOfKdbEpoch;
  if (*day < -kUnixDayOfKdbEpoch || *day >= kLatestDay) return std::nullopt;
  int64_t ns = *day * kNsPerDay + ((*hour * 60 + *minute) * 60 + *second) * kNsPerSecond;
  if (text.size() > kSecondBytes) {
    const std::optional<int64_t> fraction = ParseFraction(text.substr(kSecondBytes + 1));
    if (text[kSecondBytes] != '.' || !fraction) return std::nullopt;
    ns += *fraction;
  }
  return ns;
}

}  // namespace tickstack::feed::market
