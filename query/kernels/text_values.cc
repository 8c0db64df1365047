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

// Returns an instant's date and, after a letter, dash or blank, its time of day: `2013.10.07` and
// `09:30`.
std::optional<std::pair<std::string, std::string>> CutInstant(std::string_view text) {
  const size_t bytes = text.size() > 4 && (text[4] == '.' || text[4] == '-') ? 10 : 8;
  const std::optional<int32_t> days = ParseDate(text.substr(0, bytes));
  if (!days.has_value()) return std::nullopt;
  text.remove_prefix(std::min(bytes, text.size()));
  if (text.empty()) return std::pair(FormatDate(*days), std::string());
  if (std::string_view("DT -").find(text[0]) == std::string_view::npos) return std::nullopt;
  return std::pair(FormatDate(*days), WithColons(text.substr(1)));
}

std::optional<Value> ReadTimestamp(std::string_view text) {
  if (const std::optional<int64_t> ns = ReadUnixSeconds(text)) return Value::Timestamp(*ns);
  const auto cut = CutInstant(text);
  if (!cut.has_value()) return std::nullopt;
  return ReadLiteral(Type::kTimestamp, fmt::format("{}D{}", cut->first, cut->second));
}

// Reads hh:mm:ss.fraction, whichever literal that is, in the unit of the type.
std::optional<Value> ReadClock(Type type, std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string literal = WithColons(text.substr(negative ? 1 : 0));
  if (literal.find('D') == std::string::npos) literal.insert(0, "0D");
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

std::optional<Value> ReadDatetime(std::string_view text) {
  const auto cut = CutInstant(text);
  if (!cut.has_value()) return std::nullopt;
  const std::string_view clock = cut->second.empty() ? "00:00" : std::string_view(cut->second);
  return ReadLiteral(Type::kDatetime, fmt::format("{}T{}", cut->first, clock));
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
    case Type::kTimestamp:
      value = ReadTimestamp(text);
      break;
    case Type::kTimespan:
    case Type::kMinute:
    case Type::kSecond:
    case Type::kTime:
      value = ReadClock(type, text);
      break;
    case Type::kMonth:
      value = ReadMonth(text);
      break;
    case Type::kDatetime:
      value = ReadDatetime(text);
      break;
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
