#pragma once

// Reads values of a message as what they should be, and remembers the first one that is not, so
// that a decoder checks once, after it has read all.

#include <cstdint>
#include <string>
#include <string_view>

#include "feed/market/websocket/json_text.h"

namespace tickstack::feed::market {

// Each function returns a null or an empty value if the value does not fit. Views are valid as long
// as the message.
class JsonFields {
 public:
  // A decimal number, as a number or as a text of one: the nearest float.
  double Decimal(JsonValue value);
  // The same; null if it is missing or null.
  double OptionalDecimal(JsonValue value);
  // Not negative.
  double Amount(JsonValue value);
  double OptionalAmount(JsonValue value);
  // A whole number that is not negative, as a number or as a text.
  int64_t Number(JsonValue value);
  std::string_view Text(JsonValue value);
  // A text or number: of an id.
  std::string_view Id(JsonValue value);
  bool Truth(JsonValue value);
  // B or S; a blank if the value is neither text.
  char Side(JsonValue value, std::string_view buy, std::string_view sell);

  // Times (exchange_times.h).
  int64_t IsoNs(JsonValue value);
  int64_t SecondsNs(JsonValue value);
  int64_t UnitsNs(JsonValue value, int64_t unit_ns);

  // Notes that a value is not what it should be, if it is the first.
  void Expect(std::string_view expected, JsonValue found);
  // Requires an array or object, and returns it.
  JsonValue Array(JsonValue value);
  JsonValue Object(JsonValue value);

  bool fit() const { return why_.empty(); }
  // Says what was expected and found; empty if all fitted.
  const std::string& why() const { return why_; }

 private:
  std::string why_;
};

}  // namespace tickstack::feed::market
