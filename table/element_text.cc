#include "table/element_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>

#include "base/time.h"

namespace tickstack {
namespace {

template <typename T>
Finite FiniteOf(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return Finite::kNull;
    if (std::isinf(value)) return value > 0 ? Finite::kPlus : Finite::kMinus;
  } else {
    if (value == std::numeric_limits<T>::min()) return Finite::kNull;
    if (value == std::numeric_limits<T>::max()) return Finite::kPlus;
    if (value == -std::numeric_limits<T>::max()) return Finite::kMinus;
  }
  return Finite::kFinite;
}

template <typename T>
T Load(std::span<const std::byte> element) {
  T value;
  std::memcpy(&value, element.data(), sizeof(T));
  return value;
}

std::string FormatGuid(std::span<const std::byte> guid) {
  std::string text;
  for (size_t i = 0; i < guid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(guid[i]));
  }
  return text;
}

std::string DateText(int32_t days, TimeStyle style) {
  std::string text = FormatDate(days);
  if (style == TimeStyle::kIso) std::replace(text.begin(), text.end(), '.', '-');
  return text;
}

std::string TimestampText(int64_t ns, TimeStyle style) {
  std::string text = FormatTimestamp(ns);
  if (style == TimeStyle::kQ) return text;
  const size_t d = text.find('D');
  std::replace(text.begin(), text.begin() + static_cast<ptrdiff_t>(d), '.', '-');
  text[d] = 'T';
  return text;
}

std::string MonthText(int32_t months, TimeStyle style) {
  const int year = 2000 + (months >= 0 ? months / 12 : -((11 - months) / 12));
  const int month = (months % 12 + 12) % 12 + 1;
  return fmt::format("{:04}{}{:02}", year, style == TimeStyle::kIso ? '-' : '.', month);
}

std::string DatetimeText(double days, TimeStyle style) {
  const double ms = std::round(days * 86'400'000.0);
  // Beyond what 64 bits can count in ns.
  if (std::fabs(ms) > 9.2e12) return fmt::format("{}", days);
  const int64_t ns = static_cast<int64_t>(ms) * 1'000'000;
  std::string text = TimestampText(ns, style);
  text.resize(text.size() - 6);
  if (style == TimeStyle::kQ) text[text.find('D')] = 'T';
  return text;
}

// Returns `[-]hh:mm[:ss[.mmm]]` for a count of minutes, or of units of which a second has
// `units_per_second`.
std::string ClockText(Type type, int32_t count) {
  const int64_t magnitude = std::llabs(int64_t{count});
  const char* sign = count < 0 ? "-" : "";
  if (type == Type::kMinute) {
    return fmt::format("{}{:02}:{:02}", sign, magnitude / 60, magnitude % 60);
  }
  const int64_t seconds = type == Type::kTime ? magnitude / 1000 : magnitude;
  std::string text =
      fmt::format("{}{:02}:{:02}:{:02}", sign, seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (type == Type::kTime) text += fmt::format(".{:03}", magnitude % 1000);
  return text;
}

std::string TimespanText(int64_t ns) {
  const uint64_t magnitude =
      ns < 0 ? uint64_t{0} - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  const uint64_t second = kNsPerSecond;
  const uint64_t seconds = magnitude / second;
  return fmt::format("{}{}D{:02}:{:02}:{:02}.{:09}", ns < 0 ? "-" : "", seconds / 86'400,
                     seconds / 3600 % 24, seconds / 60 % 60, seconds % 60, magnitude % second);
}

}  // namespace

Finite FiniteOf(Type type, std::span<const std::byte> element) {
  if (type == Type::kShort) return FiniteOf(Load<int16_t>(element));
  if (type == Type::kReal) return FiniteOf(Load<float>(element));
  if (type == Type::kFloat || type == Type::kDatetime) return FiniteOf(Load<double>(element));
  if (type == Type::kGuid) {
    for (const std::byte byte : element) {
      if (byte != std::byte{0}) return Finite::kFinite;
    }
    return Finite::kNull;
  }
  if (element.size() == 8) return FiniteOf(Load<int64_t>(element));
  if (element.size() == 4) return FiniteOf(Load<int32_t>(element));
  return Finite::kFinite;  // Booleans, bytes and chars.
}

std::string ElementText(Type type, std::span<const std::byte> element, TimeStyle style) {
  switch (type) {
    case Type::kBoolean:
      return std::to_integer<int>(element[0]) != 0 ? "1" : "0";
    case Type::kGuid:
      return FormatGuid(element);
    case Type::kByte:
      return fmt::format("{:02x}", std::to_integer<unsigned>(element[0]));
    case Type::kShort:
      return fmt::format("{}", Load<int16_t>(element));
    case Type::kInt:
      return fmt::format("{}", Load<int32_t>(element));
    case Type::kLong:
      return fmt::format("{}", Load<int64_t>(element));
    case Type::kReal:
      return fmt::format("{}", Load<float>(element));
    case Type::kFloat:
      return fmt::format("{}", Load<double>(element));
    case Type::kChar:
      return std::string(1, static_cast<char>(element[0]));
    case Type::kTimestamp:
      return TimestampText(Load<int64_t>(element), style);
    case Type::kMonth:
      return MonthText(Load<int32_t>(element), style);
    case Type::kDate:
      return DateText(Load<int32_t>(element), style);
    case Type::kDatetime:
      return DatetimeText(Load<double>(element), style);
    case Type::kTimespan:
      return TimespanText(Load<int64_t>(element));
    case Type::kList:
    case Type::kSymbol:
    case Type::kMinute:
    case Type::kSecond:
    case Type::kTime:
    case Type::kTable:
    case Type::kDict:
    case Type::kLambda:
    case Type::kUnary:
    case Type::kOperator:
    case Type::kIterator:
    case Type::kProjection:
    case Type::kComposition:
    case Type::kSortedDict:
    case Type::kError:
      break;
  }
  return ClockText(type, Load<int32_t>(element));
}

}  // namespace tickstack
