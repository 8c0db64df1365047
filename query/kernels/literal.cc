#include "query/kernels/literal.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"

namespace tickstack::query {
namespace {

enum class Special { kNone, kNull, kInfinity, kMinusInfinity };

// One word of a literal, before the words of a vector have agreed on a type.
struct Word {
  Type type = Type::kLong;
  bool fixed =
      false;  // True if the word says its type; otherwise it is a plain integer, 0N, 0W or a float.
  Special special = Special::kNone;
  int64_t integer = 0;
  double floating = 0;
};

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }

bool AllDigits(std::string_view text) {
  for (char c : text) {
    if (!IsDecimal(c)) return false;
  }
  return !text.empty();
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ParseFloat(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  // from_chars leaves the value as it is then; strtod returns infinity or 0, as q does.
  if (error == std::errc::result_out_of_range)
    return std::strtod(std::string(text).c_str(), nullptr);
  return value;
}

struct TimeOfDay {
  int64_t ns = 0;
  int parts = 0;        // 1: hours only, 2: hh:mm, 3: with seconds.
  size_t fraction = 0;  // Digits behind the point.
};

// Parses `hh`, `hh:mm`, `hh:mm:ss` or `hh:mm:ss.fraction` with up to nine digits. Hours may exceed
// a day: 25:00 is a timespan.
std::optional<TimeOfDay> ParseTimeOfDay(std::string_view text) {
  TimeOfDay time;
  constexpr int64_t kUnitNs[] = {3600 * kNsPerSecond, 60 * kNsPerSecond, kNsPerSecond};
  const size_t point = text.find('.');
  std::string_view clock = text.substr(0, point);
  while (!clock.empty() && time.parts < 3) {
    const size_t colon = clock.find(':');
    const std::string_view part = clock.substr(0, colon);
    if (!AllDigits(part) || part.size() > (time.parts == 0 ? 4u : 2u)) return std::nullopt;
    const int64_t value = *ParseInteger(part);
    if (time.parts > 0 && value > 59) return std::nullopt;
    time.ns += value * kUnitNs[time.parts++];
    if (colon == std::string_view::npos)
      clock = {};
    else
      clock.remove_prefix(colon + 1);
    if (colon != std::string_view::npos && clock.empty()) return std::nullopt;
  }
  if (!clock.empty()) return std::nullopt;
  if (point == std::string_view::npos) return time;

  std::string digits(text.substr(point + 1));
  if (time.parts != 3 || digits.size() > 9 || (!digits.empty() && !AllDigits(digits))) {
    return std::nullopt;
  }
  time.fraction = digits.size();
  digits.append(9 - digits.size(), '0');
  time.ns += *ParseInteger(digits);
  return time;
}

Word Fixed(Type type, int64_t integer) {
  return Word{.type = type, .fixed = true, .integer = integer};
}

std::optional<Word> ParseDateWord(std::string_view text) {
  if (text.size() == 8 && text[7] == 'm' && text[4] == '.' && AllDigits(text.substr(0, 4)) &&
      AllDigits(text.substr(5, 2))) {
    const int64_t year = *ParseInteger(text.substr(0, 4)), month = *ParseInteger(text.substr(5, 2));
    if (month < 1 || month > 12) return std::nullopt;
    return Fixed(Type::kMonth, (year - 2000) * 12 + month - 1);
  }
  if (text.size() != 10 || text[4] != '.') return std::nullopt;
  const std::optional<int32_t> days = ParseDate(text);
  if (!days.has_value()) return std::nullopt;
  return Fixed(Type::kDate, *days);
}

// Parses `2013.10.07D09:30`, `1D02:00` and `0D`.
std::optional<Word> ParseDayAndTime(std::string_view text, size_t letter) {
  const std::string_view day = text.substr(0, letter), clock = text.substr(letter + 1);
  TimeOfDay time;
  if (!clock.empty()) {
    const std::optional<TimeOfDay> parsed = ParseTimeOfDay(clock);
    if (!parsed.has_value()) return std::nullopt;
    time = *parsed;
  }
  if (const std::optional<Word> date = ParseDateWord(day); date && date->type == Type::kDate) {
    if (text[letter] == 'T') {
      Word word = Fixed(Type::kDatetime, 0);
      word.floating = static_cast<double>(date->integer) +
                      static_cast<double>(time.ns) / static_cast<double>(kNsPerDay);
      return word;
    }
    int64_t ns = 0;
    if (__builtin_mul_overflow(date->integer, kNsPerDay, &ns)) return std::nullopt;
    if (__builtin_add_overflow(ns, time.ns, &ns)) return std::nullopt;
    return Fixed(Type::kTimestamp, ns);
  }
  if (text[letter] != 'D' || !AllDigits(day) || day.size() > 6) return std::nullopt;
  int64_t ns = 0;
  if (__builtin_mul_overflow(*ParseInteger(day), kNsPerDay, &ns)) return std::nullopt;
  if (__builtin_add_overflow(ns, time.ns, &ns)) return std::nullopt;
  return Fixed(Type::kTimespan, ns);
}

// Returns the letter after a time of day that says its type, as in `09:30t`; 0 if there is none.
char ClockLetter(std::string_view text) {
  const bool letter = text.find(':') != std::string_view::npos && !text.empty() &&
                      std::string_view("uvtn").find(text.back()) != std::string_view::npos;
  return letter ? text.back() : '\0';
}

// Parses a time: hh:mm is a minute, hh:mm:ss a second; with up to three digits after the point it
// is a time, with more a timespan. A letter at its end gives the type.
std::optional<Word> ParseClock(std::string_view text) {
  const char letter = ClockLetter(text);
  if (letter != '\0') text.remove_suffix(1);
  const std::optional<TimeOfDay> time = ParseTimeOfDay(text);
  if (!time.has_value() || time->parts < 2) return std::nullopt;
  if (letter == 'u') return Fixed(Type::kMinute, time->ns / (60 * kNsPerSecond));
  if (letter == 'v') return Fixed(Type::kSecond, time->ns / kNsPerSecond);
  if (letter == 't') return Fixed(Type::kTime, time->ns / 1'000'000);
  if (letter == 'n') return Fixed(Type::kTimespan, time->ns);
  if (time->parts == 2) return Fixed(Type::kMinute, time->ns / (60 * kNsPerSecond));
  if (text.find('.') == std::string_view::npos)
    return Fixed(Type::kSecond, time->ns / kNsPerSecond);
  if (time->fraction <= 3) return Fixed(Type::kTime, time->ns / 1'000'000);
  return Fixed(Type::kTimespan, time->ns);
}

// Parses 0N 0W 0n 0w, with an optional letter for the type.
std::optional<Word> ParseSpecial(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return std::nullopt;
  Word word;
  switch (text[1]) {
    case 'n':
    case 'w':
      if (text.size() == 2) word.type = Type::kFloat;
      break;
    case 'N':
    case 'W':
      break;
    default:
      return std::nullopt;
  }
  word.special = text[1] == 'n' || text[1] == 'N' ? Special::kNull : Special::kInfinity;
  if (text.size() == 2) return word;
  const std::optional<Type> type = TypeOfLetter(text[2]);
  if (text.size() != 3 || !type.has_value()) return std::nullopt;
  if (*type == Type::kBoolean || *type == Type::kByte || *type == Type::kSymbol)
    return std::nullopt;
  if (word.special == Special::kInfinity && (*type == Type::kGuid || *type == Type::kChar)) {
    return std::nullopt;
  }
  word.type = *type;
  word.fixed = true;
  return word;
}

// Returns whether a word is a whole number with the letter of a temporal type, such as `0t`.
bool IsTimeAsNumber(std::string_view text) {
  constexpr std::string_view kLetters = "pmdznuvt";
  return text.size() > 1 && kLetters.find(text.back()) != std::string_view::npos &&
         AllDigits(text.substr(0, text.size() - 1));
}

// Parses a zero with the letter of a temporal type: `0p` is the first moment of 2000, `0t`
// midnight.
std::optional<Word> ParseZeroTime(std::string_view text) {
  if (!IsTimeAsNumber(text) || text.find_first_not_of('0') != text.size() - 1) return std::nullopt;
  return Fixed(*TypeOfLetter(text.back()), 0);
}

template <typename T>
bool Fits(int64_t value) {
  return value > std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

std::optional<Word> ParseInt(std::string_view text) {
  const char suffix = text.empty() || IsDecimal(text.back()) ? '\0' : text.back();
  if (suffix != '\0') text.remove_suffix(1);
  if (!AllDigits(text)) return std::nullopt;
  if (suffix == 'f' || suffix == 'e') {
    const std::optional<double> value = ParseFloat(text);
    if (!value.has_value()) return std::nullopt;
    return Word{
        .type = suffix == 'f' ? Type::kFloat : Type::kReal, .fixed = true, .floating = *value};
  }
  const std::optional<int64_t> value = ParseInteger(text);
  if (!value.has_value()) return std::nullopt;
  switch (suffix) {
    case '\0':
      return Word{.integer = *value};
    case 'j':
      return Fixed(Type::kLong, *value);
    case 'i':
      return Fits<int32_t>(*value) ? std::optional(Fixed(Type::kInt, *value)) : std::nullopt;
    case 'h':
      return Fits<int16_t>(*value) ? std::optional(Fixed(Type::kShort, *value)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Parses digits with a point or an exponent, and an optional suffix e or f.
std::optional<Word> ParseDecimal(std::string_view text) {
  if (text.find_first_of(".e") == std::string_view::npos) return std::nullopt;
  Word word{.type = Type::kFloat};
  if (text.ends_with('f') || (text.ends_with('e') && text.find('.') != std::string_view::npos)) {
    word.type = text.ends_with('f') ? Type::kFloat : Type::kReal;
    word.fixed = true;
    text.remove_suffix(1);
  }
  if (text.find_first_not_of("0123456789.e+-") != std::string_view::npos) return std::nullopt;
  const std::optional<double> value = ParseFloat(text);
  if (!value.has_value()) return std::nullopt;
  word.floating = *value;
  return word;
}

std::optional<Word> ParseUnsignedWord(std::string_view text) {
  if (const std::optional<Word> special = ParseSpecial(text)) return special;
  if (const std::optional<Word> zero = ParseZeroTime(text)) return zero;
  if (const size_t letter = text.find_first_of("DT"); letter != std::string_view::npos) {
    return ParseDayAndTime(text, letter);
  }
  if (text.find(':') != std::string_view::npos) return ParseClock(text);
  if (const std::optional<Word> date = ParseDateWord(text)) return date;
  if (const std::optional<Word> integer = ParseInt(text)) return integer;
  return ParseDecimal(text);
}

std::optional<Word> ParseWord(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::optional<Word> word = ParseUnsignedWord(text);
  if (!word.has_value() || !negative) return word;
  word->integer = -word->integer;
  word->floating = -word->floating;
  if (word->special == Special::kInfinity) word->special = Special::kMinusInfinity;
  return word;
}

template <typename T>
T ElementOf(const Word& word, Type type) {
  if constexpr (std::is_same_v<T, Guid>) {
    return Guid{};  // 0Ng is the only guid that can be written as a literal.
  } else if constexpr (std::is_floating_point_v<T>) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    if (word.special == Special::kNull) return NullElement<T>(type);
    if (word.special == Special::kInfinity) return kInfinity;
    if (word.special == Special::kMinusInfinity) return -kInfinity;
    return static_cast<T>(IsFloating(word.type) ? word.floating
                                                : static_cast<double>(word.integer));
  } else {
    constexpr T kInfinity = std::numeric_limits<T>::max();
    if (word.special == Special::kNull) return NullElement<T>(type);
    if (word.special == Special::kInfinity) return kInfinity;
    if (word.special == Special::kMinusInfinity) return static_cast<T>(-kInfinity);
    return static_cast<T>(word.integer);
  }
}

absl::StatusOr<Type> CommonType(std::span<const Word> words) {
  std::optional<Type> fixed;
  bool has_float = false, has_special = false;  // 0n and 0w fit every type.
  for (const Word& word : words) {
    const bool is_float = !word.fixed && word.type == Type::kFloat;
    has_float = has_float || (is_float && word.special == Special::kNone);
    has_special = has_special || (is_float && word.special != Special::kNone);
    if (!word.fixed) continue;
    if (fixed.has_value() && *fixed != word.type) {
      return TypeError("{} and {} in one vector of numbers", NameOf(*fixed), NameOf(word.type));
    }
    fixed = word.type;
  }
  if (!fixed.has_value()) return has_float || has_special ? Type::kFloat : Type::kLong;
  if (has_float && !IsFloating(*fixed)) {
    return TypeError("float and {} in one vector of numbers", NameOf(*fixed));
  }
  return *fixed;
}

absl::StatusOr<Value> BuildNumbers(std::span<const Word> words) {
  TS_ASSIGN_OR_RETURN(const Type type, CommonType(words));
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) -> absl::StatusOr<Value> {
    VectorWriter<T> out(type, words.size());
    for (size_t i = 0; i < words.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        if (words[i].special == Special::kNone && words[i].integer != 0 &&
            !Fits<T>(words[i].integer)) {
          return TypeError("{} does not fit {}", words[i].integer, NameOf(type));
        }
      }
      out.data()[i] = ElementOf<T>(words[i], type);
    }
    Value vector = std::move(out).Finish();
    return words.size() == 1 ? ItemAt(vector, 0) : vector;
  });
}

// Parses `101b`.
std::optional<Value> ParseBooleans(std::string_view word) {
  if (word.size() < 2 || word.back() != 'b') return std::nullopt;
  word.remove_suffix(1);
  if (word.find_first_not_of("01") != std::string_view::npos) return std::nullopt;
  if (word.size() == 1) return Value::Boolean(word == "1");
  VectorWriter<uint8_t> out(Type::kBoolean, word.size());
  for (size_t i = 0; i < word.size(); ++i) out.data()[i] = word[i] == '1';
  return std::move(out).Finish();
}

// Parses `0x0a0b`; of an odd number of digits the first one is a byte of its own.
std::optional<Value> ParseBytes(std::string_view word) {
  if (!word.starts_with("0x")) return std::nullopt;
  std::string digits(word.substr(2));
  if (digits.size() % 2 == 1) digits.insert(digits.begin(), '0');
  VectorWriter<uint8_t> out(Type::kByte, digits.size() / 2);
  for (size_t i = 0; i < digits.size() / 2; ++i) {
    const char* begin = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, out.data()[i], 16);
    if (error != std::errc() || end != begin + 2) return std::nullopt;
  }
  Value bytes = std::move(out).Finish();
  return bytes.count() == 1 ? ItemAt(bytes, 0) : bytes;
}

}  // namespace

absl::StatusOr<Value> ParseNumbers(std::span<const std::string_view> texts) {
  if (texts.size() == 1) {
    if (std::optional<Value> booleans = ParseBooleans(texts[0])) return *std::move(booleans);
    if (std::optional<Value> bytes = ParseBytes(texts[0])) return *std::move(bytes);
  }
  std::vector<Word> words;
  words.reserve(texts.size());
  const bool zero_time = IsTimeAsNumber(texts.back()) && !ParseSpecial(texts.back()).has_value();
  for (std::string_view text : texts) {
    const bool number = IsTimeAsNumber(text) || (zero_time && AllDigits(text));
    if (number && text.find_first_of("123456789") != std::string_view::npos) {
      return NyiError(fmt::format("{}: a time as a number", text));
    }
    // Only the last word of a vector says that it is of months, or which type its times of day are.
    const bool month = texts.back().ends_with('m') && text.size() == 7 && text[4] == '.';
    const char letter = ClockLetter(texts.back());
    const bool clock = letter != '\0' && ClockLetter(text) == '\0' && text.find(':') != text.npos;
    const std::optional<Word> word = month   ? ParseDateWord(fmt::format("{}m", text))
                                     : clock ? ParseWord(fmt::format("{}{}", text, letter))
                                             : ParseWord(text);
    if (!word.has_value()) {
      return QError(absl::StatusCode::kInvalidArgument, text, "not a number");
    }
    words.push_back(*word);
  }
  return BuildNumbers(words);
}

absl::StatusOr<Value> ParseString(std::string_view inside) {
  std::string text;
  text.reserve(inside.size());
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\') {
      text.push_back(inside[i]);
      continue;
    }
    if (++i == inside.size())
      return QError(absl::StatusCode::kInvalidArgument, "\"", "open escape");
    const char c = inside[i];
    if (c == 'n')
      text.push_back('\n');
    else if (c == 'r')
      text.push_back('\r');
    else if (c == 't')
      text.push_back('\t');
    else if (c == '"' || c == '\\')
      text.push_back(c);
    else if (i + 2 < inside.size() && c >= '0' && c <= '3') {
      int code = 0;
      const auto [end, error] = std::from_chars(&inside[i], &inside[i] + 3, code, 8);
      if (error != std::errc() || end != &inside[i] + 3) {
        return QError(absl::StatusCode::kInvalidArgument, "\\", "a bad octal escape");
      }
      text.push_back(static_cast<char>(code));
      i += 2;
    } else {
      return QError(absl::StatusCode::kInvalidArgument, "\\", fmt::format("escape \\{}", c));
    }
  }
  if (text.size() == 1) return Value::Char(text[0]);
  return Value::String(text);
}

}  // namespace tickstack::query
