#include "query/kernels/text_values.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/date_texts.h"
#include "query/kernels/literal.h"

namespace tickstack::query {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// Returns the atom of a type that a literal spells.
std::optional<Value> ReadLiteral(Type type, const std::string& text) {
  const std::string_view word = text;
  absl::StatusOr<Value> value = ParseNumbers(std::span(&word, 1));
  if (!value.ok() || !value->is_atom_of(type)) return std::nullopt;
  return *std::move(value);
}

bool IsNumber(std::string_view text) {
  return text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

// Reads a number by putting its type's letter behind it, which makes it a literal of that type.
std::optional<Value> ReadNumber(Type type, std::string_view text) {
  if (const auto address = ReadInternetAddress(text); address && type == Type::kInt) {
    return Value::Int(*address);
  }
  if (!IsNumber(text)) return std::nullopt;
  std::string literal(text.starts_with('+') ? text.substr(1) : text);
  return ReadLiteral(type, literal + LetterOf(type));
}

absl::StatusOr<std::optional<Value>> ReadDate(std::string_view text) {
  TS_ASSIGN_OR_RETURN(const std::optional<int32_t> days, ReadDateText(text));
  return days.has_value() ? std::optional(Value::Date(*days)) : std::nullopt;
}

// An instant's date, and its time of day in the form of a literal; empty if the text has none.
struct Instant {
  std::string date;
  std::string clock;
};

// Cuts an instant at the letter, dash or blank between its date and its time of day.
absl::StatusOr<std::optional<Instant>> CutInstant(std::string_view text) {
  constexpr size_t kShortest = 8;  // Length of the shortest date. One form has a `D`: 25Dec2000.
  size_t cut = text.find_first_of("DT ", kShortest);
  if (text.find_first_not_of("0123456789") == kShortest && text[kShortest] == '-') cut = kShortest;
  TS_ASSIGN_OR_RETURN(const std::optional<int32_t> days, ReadDateText(text.substr(0, cut)));
  if (!days.has_value()) return std::nullopt;
  Instant instant{FormatDate(*days), ""};
  if (cut == std::string_view::npos || cut + 1 == text.size()) return instant;
  std::optional<std::string> clock = ReadClockText(text.substr(cut + 1));
  if (!clock.has_value()) return std::nullopt;
  instant.clock = *std::move(clock);
  return instant;
}

absl::StatusOr<std::optional<Value>> ReadTimestamp(std::string_view text) {
  if (const std::optional<int64_t> ns = ReadUnixSeconds(text)) return Value::Timestamp(*ns);
  TS_ASSIGN_OR_RETURN(const std::optional<Instant> cut, CutInstant(text));
  if (!cut.has_value()) return std::nullopt;
  return ReadLiteral(Type::kTimestamp, fmt::format("{}D{}", cut->date, cut->clock));
}

// Reads hh:mm:ss.fraction, after days or a minus or not, whichever literal that is, in the unit of
// the type.
std::optional<Value> ReadClock(Type type, std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::string literal = "0D";
  if (const size_t days = text.find('D'); days != std::string_view::npos) {
    if (days == 0) return std::nullopt;
    literal = text.substr(0, days + 1);
    text.remove_prefix(days + 1);
  } else if (text.empty()) {
    return std::nullopt;
  }
  if (!text.empty()) {
    const std::optional<std::string> clock = ReadClockText(text);
    if (!clock.has_value()) return std::nullopt;
    literal += *clock;
  }
  const std::optional<Value> span = ReadLiteral(Type::kTimespan, literal);
  if (!span.has_value()) return std::nullopt;
  const int64_t ns = span->as<int64_t>() * (negative ? -1 : 1);
  if (type == Type::kTimespan) return Value::Timespan(ns);
  const int64_t unit = type == Type::kMinute   ? 60 * kNsPerSecond
                       : type == Type::kSecond ? kNsPerSecond
                                               : kNsPerSecond / 1000;
  return Value::Atom(type, static_cast<int32_t>(ns / unit));
}

// Reads yyyy.mm, yyyy-mm or yyyymm.
std::optional<Value> ReadMonth(std::string_view text) {
  std::string literal(text);
  if (literal.size() == 6) literal.insert(4, ".");
  if (literal.size() == 7 && literal[4] == '-') literal[4] = '.';
  return ReadLiteral(Type::kMonth, literal + 'm');
}

absl::StatusOr<std::optional<Value>> ReadDatetime(std::string_view text) {
  TS_ASSIGN_OR_RETURN(const std::optional<Instant> cut, CutInstant(text));
  if (!cut.has_value()) return std::nullopt;
  const std::string_view clock = cut->clock.empty() ? "00:00" : std::string_view(cut->clock);
  return ReadLiteral(Type::kDatetime, fmt::format("{}T{}", cut->date, clock));
}

// Reads pairs of hexadecimal digits; returns false if there is anything else.
bool ReadHex(std::string_view text, std::span<std::byte> bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(begin, begin + 2, byte, 16);
    if (error != std::errc() || end != begin + 2) return false;
    bytes[i] = std::byte{byte};
  }
  return true;
}

std::optional<Value> ReadByte(std::string_view text) {
  std::byte byte{};
  const std::string digits = text.size() == 1 ? fmt::format("0{}", text) : std::string(text);
  if (!ReadHex(digits, std::span(&byte, 1))) return std::nullopt;
  return Value::Byte(std::to_integer<uint8_t>(byte));
}

// Reads an IP address; one of version 4 becomes 0:0:0:0:0:ffff and its four bytes.
std::optional<Value> ReadAddress(const std::string& text) {
  Guid guid{};
  if (::inet_pton(AF_INET6, text.c_str(), guid.data()) == 1) return Value::Atom(Type::kGuid, guid);
  guid[10] = guid[11] = std::byte{0xff};
  if (::inet_pton(AF_INET, text.c_str(), guid.data() + 12) != 1) return std::nullopt;
  return Value::Atom(Type::kGuid, guid);
}

// Reads 8-4-4-4-12 hexadecimal digits, or an IP address.
std::optional<Value> ReadGuid(std::string_view text) {
  constexpr size_t kDashes[] = {23, 18, 13, 8};
  const bool dashed = text.size() == 36 && text[8] == '-';
  if (!dashed) {
    if (text.size() > 45 || text.find('\0') != std::string_view::npos) return std::nullopt;
    return ReadAddress(std::string(text));
  }
  std::string digits(text);
  for (const size_t at : kDashes) {
    if (digits[at] != '-') return std::nullopt;
    digits.erase(at, 1);
  }
  Guid guid;
  if (!ReadHex(digits, guid)) return std::nullopt;
  return Value::Atom(Type::kGuid, guid);
}

}  // namespace

absl::StatusOr<Value> ReadText(Type type, std::string_view text) {
  text = Trimmed(text);
  std::optional<Value> value;
  switch (type) {
    case Type::kSymbol:
      return Value::Symbol(text);
    case Type::kBoolean:
      return Value::Boolean(text.size() == 1 &&
                            std::string_view("tTyYxX1").find(text[0]) != std::string_view::npos);
    case Type::kChar:
      if (text.size() == 1) value = Value::Char(text[0]);
      break;
    case Type::kShort:
    case Type::kInt:
    case Type::kLong:
    case Type::kReal:
    case Type::kFloat:
      value = ReadNumber(type, text);
      break;
    case Type::kDate: {
      TS_ASSIGN_OR_RETURN(value, ReadDate(text));
      break;
    }
    case Type::kTimestamp: {
      TS_ASSIGN_OR_RETURN(value, ReadTimestamp(text));
      break;
    }
    case Type::kTimespan:
    case Type::kMinute:
    case Type::kSecond:
    case Type::kTime:
      value = ReadClock(type, text);
      break;
    case Type::kMonth:
      value = ReadMonth(text);
      break;
    case Type::kDatetime: {
      TS_ASSIGN_OR_RETURN(value, ReadDatetime(text));
      break;
    }
    case Type::kByte:
      value = ReadByte(text);
      break;
    case Type::kGuid:
      value = ReadGuid(text);
      break;
    case Type::kList:
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
      return NyiError(fmt::format("a {} from text", NameOf(type)));
  }
  return value.has_value() ? *std::move(value) : NullOf(type);
}

}  // namespace tickstack::query
