#include "feed/market/websocket/json_fields.h"

#include <fmt/format.h>

#include <optional>

#include "feed/market/events.h"
#include "feed/market/text_fields.h"
#include "feed/market/websocket/exchange_times.h"

namespace tickstack::feed::market {
namespace {

bool IsScalar(JsonValue value) {
  return value.kind() == JsonKind::kNumber || value.kind() == JsonKind::kString;
}

bool IsAbsent(JsonValue value) {
  return value.kind() == JsonKind::kMissing || value.kind() == JsonKind::kNull;
}

std::string FoundText(JsonValue value) {
  constexpr size_t kShownBytesMax = 40;
  switch (value.kind()) {
    case JsonKind::kMissing:
      return "nothing";
    case JsonKind::kNull:
      return "null";
    case JsonKind::kArray:
      return fmt::format("an array of {}", value.size());
    case JsonKind::kObject:
      return "an object";
    default:
      return fmt::format("\"{}\"", value.text().substr(0, kShownBytesMax));
  }
}

}  // namespace

void JsonFields::Expect(std::string_view expected, JsonValue found) {
  if (!why_.empty()) return;
  const std::string_view name = found.key();
  why_ = fmt::format("{}{}expected {}, found {}", name, name.empty() ? "" : ": ", expected,
                     FoundText(found));
}

double JsonFields::Decimal(JsonValue value) {
  const std::optional<double> decimal = IsScalar(value) ? ParseDecimal(value.text()) : std::nullopt;
  if (!decimal) Expect("a decimal number", value);
  return decimal.value_or(kNullPrice);
}

double JsonFields::OptionalDecimal(JsonValue value) {
  return IsAbsent(value) ? kNullPrice : Decimal(value);
}

double JsonFields::Amount(JsonValue value) {
  const double amount = Decimal(value);
  if (amount < 0) Expect("an amount that is not negative", value);
  return amount;
}

double JsonFields::OptionalAmount(JsonValue value) {
  return IsAbsent(value) ? kNullPrice : Amount(value);
}

int64_t JsonFields::Number(JsonValue value) {
  const std::optional<int64_t> number = IsScalar(value) ? ParseInteger(value.text()) : std::nullopt;
  if (number && *number >= 0) return *number;
  Expect("a whole number that is not negative", value);
  return 0;
}

std::string_view JsonFields::Text(JsonValue value) {
  if (!value.is_string()) Expect("a text", value);
  return value.is_string() ? value.text() : std::string_view();
}

std::string_view JsonFields::Id(JsonValue value) {
  if (!IsScalar(value)) Expect("a text or a number", value);
  return IsScalar(value) ? value.text() : std::string_view();
}

bool JsonFields::Truth(JsonValue value) {
  if (value.kind() != JsonKind::kTruth) Expect("true or false", value);
  return value.text() == "true";
}

char JsonFields::Side(JsonValue value, std::string_view buy, std::string_view sell) {
  if (IsScalar(value) && value.text() == buy) return 'B';
  if (IsScalar(value) && value.text() == sell) return 'S';
  if (fit()) Expect(fmt::format("{} or {}", buy, sell), value);
  return ' ';
}

int64_t JsonFields::IsoNs(JsonValue value) {
  const std::optional<int64_t> ns = value.is_string() ? ParseIsoTime(value.text()) : std::nullopt;
  if (!ns) Expect("a time such as 2021-04-17T16:43:37.075687Z", value);
  return ns.value_or(kNullLong);
}

int64_t JsonFields::SecondsNs(JsonValue value) {
  const std::optional<int64_t> ns = IsScalar(value) ? ParseUnixSeconds(value.text()) : std::nullopt;
  if (!ns) Expect("seconds from 1970 to 2200", value);
  return ns.value_or(kNullLong);
}

int64_t JsonFields::UnitsNs(JsonValue value, int64_t unit_ns) {
  const std::optional<int64_t> ns =
      IsScalar(value) ? ParseUnixUnits(value.text(), unit_ns) : std::nullopt;
  if (!ns) Expect("a time from 1970 to 2200", value);
  return ns.value_or(kNullLong);
}

JsonValue JsonFields::Array(JsonValue value) {
  if (value.is_array()) return value;
  Expect("an array", value);
  return {};
}

JsonValue JsonFields::Object(JsonValue value) {
  if (value.is_object()) return value;
  Expect("an object", value);
  return {};
}

}  // namespace tickstack::feed::market
