#include "query/kernels/date_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/status.h"
#include "base/time.h"
#include "query/columns/errors.h"

namespace tickstack::query {
namespace {

constexpr int64_t kUnixDaysTo2000 = 10'957;

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<int64_t> ReadDigits(std::string_view text) {
  int64_t value = 0;
  if (!IsDigits(text)) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// Returns `12`, or `Dec` in any case, as two digits; empty if it is neither.
std::string ReadMonthName(std::string_view text) {
  constexpr std::array<std::string_view, 12> kNames = {"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
  if (IsDigits(text) && text.size() <= 2) return fmt::format("{:0>2}", text);
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto* const found = std::ranges::find(kNames, lower);
  return found == kNames.end() ? "" : fmt::format("{:02}", found - kNames.begin() + 1);
}

absl::StatusOr<std::optional<int32_t>> Compose(std::string_view year, std::string_view month,
                                               std::string_view day) {
  const std::string number = ReadMonthName(month);
  if (number.empty() || !IsDigits(year) || !IsDigits(day) || day.size() > 2) return std::nullopt;
  if (year.size() == 2) return NyiError("a date whose year has two digits");
  if (year.size() != 4) return std::nullopt;
  return ParseDate(fmt::format("{}.{}.{:0>2}", year, number, day));
}

}  // namespace

absl::StatusOr<std::optional<int32_t>> ReadDateText(std::string_view text) {
  if (const size_t first = text.find_first_of("/.-"); first != std::string_view::npos) {
    const size_t second = text.find(text[first], first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    const std::string_view parts[] = {
        text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
    return parts[0].size() == 4 ? Compose(parts[0], parts[1], parts[2])
                                : Compose(parts[2], parts[0], parts[1]);
  }
  if (text.size() > 5 && IsDigits(text.substr(0, 2)) && !IsDigits(text.substr(2, 3))) {
    const absl::StatusOr<std::optional<int32_t>> named =
        Compose(text.substr(5), text.substr(2, 3), text.substr(0, 2));
    if (!named.ok() || named->has_value()) return named;
  }
  if (text.size() == 6 && IsDigits(text)) return NyiError("a date whose year has two digits");
  return ParseDate(text);
}

std::optional<int64_t> ReadUnixSeconds(std::string_view text) {
  const size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::optional<int64_t> seconds = ReadDigits(whole);
  if (!seconds.has_value() || whole.size() < 9 || whole.size() > 11) return std::nullopt;
  std::string decimals(point == std::string_view::npos ? "" : text.substr(point + 1));
  if (decimals.size() > 9 || (!decimals.empty() && !IsDigits(decimals))) return std::nullopt;
  decimals.append(9 - decimals.size(), '0');
  const int64_t since_2000 = *seconds - kUnixDaysTo2000 * 86'400;
  int64_t ns = 0;
  if (__builtin_mul_overflow(since_2000, kNsPerSecond, &ns) ||
      __builtin_add_overflow(ns, *ReadDigits(decimals), &ns)) {
    return std::nullopt;
  }
  return ns;
}

std::optional<std::string> ReadClockText(std::string_view text) {
  if (text.empty() || !IsDigits(text.substr(0, 1))) return std::nullopt;
  constexpr size_t kDecimals = 9;  // Those of nanoseconds; others are cut off.
  const size_t point = text.find('.');
  if (text.find(':') != std::string_view::npos) {
    const bool is_longer = point != std::string_view::npos && text.size() > point + 1 + kDecimals;
    if (is_longer && !IsDigits(text.substr(point + 1))) return std::nullopt;
    return std::string(is_longer ? text.substr(0, point + 1 + kDecimals) : text);
  }
  std::string_view digits = text.substr(0, point), fraction;
  if (point != std::string_view::npos) {
    fraction = text.substr(point + 1);
    if (digits.size() > 6 || !IsDigits(fraction)) return std::nullopt;
  } else if (digits.size() > 6) {
    fraction = digits.substr(6);
    digits = digits.substr(0, 6);
    if (!IsDigits(fraction)) return std::nullopt;
  }
  // Hours of one or two digits; minutes and seconds of two digits each.
  if (!IsDigits(digits) || digits.size() == 3 || digits.size() == 5) return std::nullopt;
  std::string clock = fmt::format("{:0>2}", digits.substr(0, 2));
  for (const size_t at : {size_t{2}, size_t{4}}) {
    clock += fmt::format(":{}", digits.size() > at ? digits.substr(at, 2) : "00");
  }
  if (!fraction.empty()) clock += fmt::format(".{}", fraction.substr(0, kDecimals));
  return clock;
}

std::optional<int32_t> ReadInternetAddress(std::string_view text) {
  uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const size_t point = text.find('.');
    if ((point == std::string_view::npos) != (part == 3)) return std::nullopt;
    const std::optional<int64_t> byte = ReadDigits(text.substr(0, point));
    if (!byte.has_value() || *byte > 255) return std::nullopt;
    address = address << 8 | static_cast<uint32_t>(*byte);
    text.remove_prefix(part == 3 ? text.size() : point + 1);
  }
  return static_cast<int32_t>(address);
}

}  // namespace tickstack::query
