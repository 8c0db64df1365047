#include "cli/import_field.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>

#include "absl/time/time.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/time.h"
#include "query/kernels/text_values.h"
#include "table/element_text.h"
#include "table/types.h"
#include "table/value.h"

namespace tickstack::cli {
namespace {

constexpr size_t kShownBytes = 40;  // Bytes of a field that an error shows.

absl::Status NoValue(Type type, std::string_view text) {
  return InvalidArgument("expected a value of type {}, found \"{}\"", NameOf(type),
                         Printable(text.substr(0, kShownBytes)));
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Parses a whole text as a number. nullopt for anything else, and beyond T's range.
template <typename T>
std::optional<T> NumberOf(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename T>
absl::Status AppendWhole(Type type, std::string_view text, bool is_null, ByteBuffer& out) {
  constexpr T kNull = std::numeric_limits<T>::min();
  if (is_null) return out.AppendLittle(kNull), absl::OkStatus();
  const std::optional<T> value = NumberOf<T>(text);
  if (!value.has_value() || *value == kNull) return NoValue(type, text);
  out.AppendLittle(*value);
  return absl::OkStatus();
}

template <typename T>
absl::Status AppendFloat(Type type, std::string_view text, bool is_null, ByteBuffer& out) {
  const std::optional<T> value =
      is_null ? std::optional(std::numeric_limits<T>::quiet_NaN()) : NumberOf<T>(text);
  if (!value.has_value()) return NoValue(type, text);
  // One pattern for null, as kdb+ writes it.
  if (!std::isnan(*value)) return out.AppendLittle(*value), absl::OkStatus();
  if constexpr (sizeof(T) == 4) {
    out.AppendLittle(kNullRealBits);
  } else {
    out.AppendLittle(kNullFloatBits);
  }
  return absl::OkStatus();
}

absl::Status AppendBoolean(std::string_view text, bool is_null, ByteBuffer& out) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const std::string_view yes : {"1", "t", "true", "y", "yes", "1b"}) {
    if (lower == yes) return out.AppendLittle(uint8_t{1}), absl::OkStatus();
  }
  for (const std::string_view no : {"0", "f", "false", "n", "no", "0b"}) {
    if (lower == no) return out.AppendLittle(uint8_t{0}), absl::OkStatus();
  }
  return is_null ? InvalidArgument("an empty field, but booleans have no null")
                 : NoValue(Type::kBoolean, text);
}

absl::Status AppendText(Type type, std::string_view text, bool is_null, ByteBuffer& out) {
  if (is_null) text = {};
  if (type == Type::kList) {
    if (text.size() > std::numeric_limits<int32_t>::max()) return NoValue(type, text);
    out.AppendLittle(static_cast<uint8_t>(Type::kChar));
    out.AppendLittle(uint8_t{0});
    out.AppendLittle(static_cast<int32_t>(text.size()));
    out.Append(text);
    return absl::OkStatus();
  }
  if (type == Type::kChar) {
    if (text.size() > 1) return NoValue(type, text);
    out.AppendLittle(text.empty() ? ' ' : text[0]);
    return absl::OkStatus();
  }
  if (text.find('\0') != std::string_view::npos) {
    return InvalidArgument("a symbol with a byte 0");
  }
  out.Append(text);
  out.AppendLittle(uint8_t{0});
  return absl::OkStatus();
}

// Converts ns since 1970, given as seconds and a rest, to ns since 2000.
std::optional<int64_t> KdbNs(__int128 unix_ns) {
  const __int128 ns = unix_ns - kUnixNsOfKdbEpoch;
  // The extremes are null and the infinities.
  if (ns <= -kInfinityLong || ns >= kInfinityLong) return std::nullopt;
  return static_cast<int64_t>(ns);
}

// Reads a time in a format of strptime, in UTC.
std::optional<int64_t> FormattedNs(std::string_view text, const std::string& format) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(format, std::string(text), absl::UTCTimeZone(), &time, &error)) {
    return std::nullopt;
  }
  if (time == absl::InfiniteFuture() || time == absl::InfinitePast()) return std::nullopt;
  absl::Duration rest;
  const int64_t seconds = absl::IDivDuration(time - absl::UnixEpoch(), absl::Seconds(1), &rest);
  return KdbNs(__int128{seconds} * kNsPerSecond + absl::ToInt64Nanoseconds(rest));
}

// Reads a value of a type of time in the forms of q and ISO 8601. A date begins with its year. For
// q, 03/09/2020 is 9 March, but a file may mean 3 September. So other orders need a format.
absl::Status AppendTime(Type type, std::string_view text, ByteBuffer& out) {
  constexpr size_t kYearDigits = 4;
  const bool has_date = type == Type::kTimestamp || type == Type::kDate;
  const std::string_view begin = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  const size_t digits = std::min(begin.find_first_not_of("0123456789"), begin.size());
  if (has_date && digits < kYearDigits) return NoValue(type, text);
  TS_ASSIGN_OR_RETURN(const Value value, query::ReadText(type, text));
  if (FiniteOf(type, value.elements()) != Finite::kFinite) return NoValue(type, text);
  out.Append(value.elements());
  return absl::OkStatus();
}

absl::Status AppendTimestamp(const MappedColumn& column, std::string_view text, bool is_null,
                             ByteBuffer& out) {
  if (is_null) return out.AppendLittle(kNullLong), absl::OkStatus();
  std::optional<int64_t> ns;
  if (column.unit_ns != 0) {
    const std::optional<int64_t> count = NumberOf<int64_t>(text);
    if (count.has_value()) ns = KdbNs(__int128{*count} * column.unit_ns);
  } else if (!column.format.empty()) {
    ns = FormattedNs(text, column.format);
  } else {
    return AppendTime(Type::kTimestamp, text, out);
  }
  if (!ns.has_value()) return NoValue(Type::kTimestamp, text);
  out.AppendLittle(*ns);
  return absl::OkStatus();
}

}  // namespace

bool IsNullField(const ImportMapping& mapping, std::string_view field) {
  return field.empty() || std::ranges::count(mapping.nulls, field) > 0;
}

absl::StatusOr<int32_t> ReadDate(std::string_view text, const std::string& format) {
  text = Trimmed(text);
  std::optional<int32_t> days;
  if (format.empty()) {
    days = ParseDate(text);
  } else if (const std::optional<int64_t> ns = FormattedNs(text, format)) {
    days = DayOf(*ns);
  }
  if (!days.has_value()) return NoValue(Type::kDate, text);
  return *days;
}

absl::Status AppendField(const MappedColumn& column, std::string_view text, bool is_null,
                         ByteBuffer& out) {
  const Type type = column.spec.type;
  if (type == Type::kList || type == Type::kSymbol || type == Type::kChar) {
    return AppendText(type, text, is_null, out);
  }
  text = Trimmed(text);
  is_null = is_null || text.empty();
  if (type == Type::kBoolean) return AppendBoolean(text, is_null, out);
  if (type == Type::kShort) return AppendWhole<int16_t>(type, text, is_null, out);
  if (type == Type::kInt) return AppendWhole<int32_t>(type, text, is_null, out);
  if (type == Type::kLong) return AppendWhole<int64_t>(type, text, is_null, out);
  if (type == Type::kReal) return AppendFloat<float>(type, text, is_null, out);
  if (type == Type::kFloat) return AppendFloat<double>(type, text, is_null, out);
  if (type == Type::kTimestamp) return AppendTimestamp(column, text, is_null, out);
  if (is_null && type == Type::kTimespan) return out.AppendLittle(kNullLong), absl::OkStatus();
  if (is_null) return out.AppendLittle(kNullInt), absl::OkStatus();
  if (type != Type::kDate) return AppendTime(type, text, out);
  TS_ASSIGN_OR_RETURN(const int32_t days, ReadDate(text, column.format));
  out.AppendLittle(days);
  return absl::OkStatus();
}

}  // namespace tickstack::cli
