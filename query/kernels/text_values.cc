#include "query/kernels/text_values.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/time.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/literal.h"

namespace tickstack::query {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// The atom of a type that a literal spells.
std::optional<Value> ReadLiteral(Type type, const std::string& text) {
  const std::string_view word = text;
  absl::StatusOr<Value> value = ParseNumbers(std::span(&word, 1));
  if (!value.ok() || !value->is_atom_of(type)) return std::nullopt;
  return *std::move(value);
}

bool IsNumber(std::string_view text) {
  return text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

// A number with its type's letter behind it, which makes it a literal of that type.
std::optional<Value> ReadNumber(Type type, std::string_view text) {
  if (!IsNumber(text)) return std::nullopt;
  std::string literal(text.starts_with('+') ? text.substr(1) : text);
  return ReadLiteral(type, literal + LetterOf(type));
}

std::optional<Value> ReadDate(std::string_view text) {
  const std::optional<int32_t> days = ParseDate(text);
  return days.has_value() ? std::optional(Value::Date(*days)) : std::nullopt;
}

std::optional<Value> ReadTimestamp(std::string_view text) {
  const size_t between = text.find_first_of("DT ");
  const std::optional<int32_t> days = ParseDate(text.substr(0, between));
  if (!days.has_value()) return std::nullopt;
  std::string literal = FormatDate(*days) + 'D';
  if (between != std::string_view::npos) literal += text.substr(between + 1);
  return ReadLiteral(Type::kTimestamp, literal);
}

// hh:mm:ss.fraction as whatever literal it is, in the unit of the type.
std::optional<Value> ReadClock(Type type, std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string literal(text.substr(negative ? 1 : 0));
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
    case Type::kDate:
      value = ReadDate(text);
      break;
    case Type::kTimestamp:
      value = ReadTimestamp(text);
      break;
    case Type::kTimespan:
    case Type::kMinute:
    case Type::kSecond:
    case Type::kTime:
      value = ReadClock(type, text);
      break;
    default:
      return NyiError(fmt::format("a {} from text", NameOf(type)));
  }
  return value.has_value() ? *std::move(value) : NullOf(type);
}

}  // namespace tickstack::query
