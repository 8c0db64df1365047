#include "feed/sources/lean_rows.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::feed {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr double kPriceUnits = 10'000;  // Per dollar.

struct Letter {
  uint32_t flag;
  char letter;
};

// Bits: QuantConnect.Data.Auxiliary.TradeConditionFlags. Letters: sale conditions of the CTA and
// UTP plans. The first bit that is set counts.
constexpr std::array kSaleConditions = {
    Letter{1u << 26, 'Q'},  // Official open
    Letter{1u << 24, 'M'},  // Official close
    Letter{1u << 6, 'O'},   // Opening print
    Letter{1u << 7, '6'},   // Closing print
    Letter{1u << 8, '5'},   // Reopening print
    Letter{1u << 14, 'Z'},  // Out of sequence
    Letter{1u << 11, 'L'},  // Sold last
    Letter{1u << 25, 'P'},  // Prior reference price
    Letter{1u << 9, '4'},   // Derivatively priced
    Letter{1u << 20, 'W'},  // Average price
    Letter{1u << 18, 'V'},  // Stock-option trade
    Letter{1u << 12, '1'},  // Stopped
    Letter{1u << 1, 'C'},   // Cash
    Letter{1u << 2, 'N'},   // Next day
    Letter{1u << 3, 'R'},   // Seller
    Letter{1u << 15, 'S'},  // Split
    Letter{1u << 16, 'A'},  // Acquisition
    Letter{1u << 17, 'B'},  // Bunched
    Letter{1u << 19, 'D'},  // Distribution
    Letter{1u << 21, 'X'},  // Cross
    Letter{1u << 22, 'H'},  // Price variation
    Letter{1u << 23, 'K'},  // Rule 155
    Letter{1u << 13, 'T'},  // Extended hours
    Letter{1u << 10, 'T'},  // Form T
    Letter{1u << 31, 'I'},  // Odd lot
    Letter{1u << 5, 'F'},   // Intermarket sweep
    Letter{1u << 4, 'Y'},   // Yellow flag
    Letter{1u << 28, 'E'},  // Automatic execution
    Letter{1u << 0, '@'},   // Regular
};

// Bits: QuantConnect.Data.Auxiliary.QuoteConditionFlags. Letters: quote conditions of the CQ plan.
constexpr std::array kQuoteModes = {
    Letter{1u << 4, 'D'},   // News dissemination
    Letter{1u << 5, 'P'},   // News pending
    Letter{1u << 9, 'M'},   // Volatility trading pause
    Letter{1u << 7, 'I'},   // Order imbalance
    Letter{1u << 22, 'Q'},  // Order influx
    Letter{1u << 15, 'X'},  // Equipment changeover
    Letter{1u << 12, 'J'},  // Due to a related security
    Letter{1u << 14, 'V'},  // In view of common
    Letter{1u << 16, 'Y'},  // Sub-penny trading
    Letter{1u << 17, 'Z'},  // No open, no resume
    Letter{1u << 13, 'T'},  // Resume
    Letter{1u << 11, 'O'},  // Opening
    Letter{1u << 3, 'C'},   // Closing
    Letter{1u << 8, 'L'},   // Closed market maker
    Letter{1u << 10, 'N'},  // Not firm
    Letter{1u << 6, 'G'},   // Trading range indication
    Letter{1u << 2, 'E'},   // Gap
    Letter{1u << 1, 'H'},   // Slow
    Letter{1u << 20, 'U'},  // Manual
    Letter{1u << 21, 'F'},  // Fast trading
    Letter{1u << 0, 'R'},   // Regular
};

template <size_t kCount>
char FirstOf(const std::array<Letter, kCount>& letters, uint32_t flags) {
  for (const Letter& known : letters) {
    if ((flags & known.flag) != 0) return known.letter;
  }
  return ' ';
}

// Splits a line at its commas. Returns false if it has another number of fields.
template <size_t kFields>
bool Split(std::string_view line, std::array<std::string_view, kFields>& fields) {
  for (size_t i = 0; i + 1 < kFields; ++i) {
    const size_t comma = line.find(',');
    if (comma == std::string_view::npos) return false;
    fields[i] = line.substr(0, comma);
    line.remove_prefix(comma + 1);
  }
  fields[kFields - 1] = line;
  return line.find(',') == std::string_view::npos;
}

size_t CountFields(std::string_view line) {
  size_t fields = 1;
  for (const char c : line) fields += c == ',';
  return fields;
}

// Parses digits only: no sign, no blanks.
template <typename T>
bool ParseNumber(std::string_view text, T max, T* value, int base = 10) {
  if (text.empty() || text[0] == '-') return false;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, *value, base);
  return error == std::errc() && stop == end && *value <= max;
}

// Parses `34200000` or `34200000.1234`: up to six decimals, as nanoseconds; more are an error.
bool ParseMs(std::string_view text, int64_t* of_day_ns) {
  const size_t point = text.find('.');
  int64_t ms = 0;
  if (!ParseNumber(text.substr(0, point), kNsPerDay / kNsPerMs - 1, &ms)) return false;
  *of_day_ns = ms * kNsPerMs;
  if (point == std::string_view::npos) return true;
  const std::string_view decimals = text.substr(point + 1);
  int64_t fraction = 0;
  if (decimals.size() > 6 || !ParseNumber(decimals, kNsPerMs, &fraction)) return false;
  for (size_t i = decimals.size(); i < 6; ++i) fraction *= 10;
  *of_day_ns += fraction;
  return true;
}

bool ParsePrice(std::string_view text, double* dollars) {
  int64_t units = 0;
  if (!ParseNumber(text, int64_t{1} << 52, &units)) return false;
  *dollars = static_cast<double>(units) / kPriceUnits;
  return true;
}

bool ParseExchange(std::string_view text, char* exchange) {
  if (text.size() != 1 || text[0] < 'A' || text[0] > 'Z') return false;
  *exchange = text[0];
  return true;
}

bool ParseFlag(std::string_view text, bool* flag) {
  if (text != "0" && text != "1") return false;
  *flag = text == "1";
  return true;
}

absl::Status BadField(std::string_view field, std::string_view found, std::string_view expected) {
  return InvalidArgument("{} '{}', expected {}", field, found, expected);
}

constexpr std::string_view kMsExpected = "milliseconds of a day, 0 to 86399999";
constexpr std::string_view kPriceExpected = "a whole number of 1/10000 dollars";
constexpr std::string_view kSizeExpected = "a whole number of shares";
constexpr std::string_view kExchangeExpected = "one capital letter";
constexpr std::string_view kConditionExpected = "hexadecimal flags";
constexpr std::string_view kSuspiciousExpected = "0 or 1";

}  // namespace

char SaleConditionOf(uint32_t flags) { return FirstOf(kSaleConditions, flags); }

char QuoteModeOf(uint32_t flags, bool suspicious) {
  const char mode = FirstOf(kQuoteModes, flags);
  return suspicious && mode != ' ' ? static_cast<char>(mode - 'A' + 'a') : mode;
}

absl::Status ParseLeanTrade(std::string_view line, LeanTrade* trade) {
  std::array<std::string_view, 6> field;
  if (!Split(line, field)) {
    return InvalidArgument("{} fields, expected 6: ms,price,size,exchange,condition,suspicious",
                           CountFields(line));
  }
  uint32_t flags = 0;
  if (!ParseMs(field[0], &trade->of_day_ns)) return BadField("ms", field[0], kMsExpected);
  if (!ParsePrice(field[1], &trade->price)) return BadField("price", field[1], kPriceExpected);
  if (!ParseNumber(field[2], INT32_MAX, &trade->size)) {
    return BadField("size", field[2], kSizeExpected);
  }
  if (!ParseExchange(field[3], &trade->exchange)) {
    return BadField("exchange", field[3], kExchangeExpected);
  }
  if (!ParseNumber(field[4], UINT32_MAX, &flags, 16)) {
    return BadField("condition", field[4], kConditionExpected);
  }
  if (!ParseFlag(field[5], &trade->suspicious)) {
    return BadField("suspicious", field[5], kSuspiciousExpected);
  }
  trade->condition = SaleConditionOf(flags);
  return absl::OkStatus();
}

absl::Status ParseLeanQuote(std::string_view line, LeanQuote* quote) {
  std::array<std::string_view, 8> field;
  if (!Split(line, field)) {
    return InvalidArgument(
        "{} fields, expected 8: ms,bid,bidsize,ask,asksize,exchange,condition,suspicious",
        CountFields(line));
  }
  uint32_t flags = 0;
  bool suspicious = false;
  constexpr int64_t kSizeMax = INT64_MAX;
  if (!ParseMs(field[0], &quote->of_day_ns)) return BadField("ms", field[0], kMsExpected);
  if (!ParsePrice(field[1], &quote->bid)) return BadField("bid", field[1], kPriceExpected);
  if (!ParseNumber(field[2], kSizeMax, &quote->bid_size)) {
    return BadField("bidsize", field[2], kSizeExpected);
  }
  if (!ParsePrice(field[3], &quote->ask)) return BadField("ask", field[3], kPriceExpected);
  if (!ParseNumber(field[4], kSizeMax, &quote->ask_size)) {
    return BadField("asksize", field[4], kSizeExpected);
  }
  if (!ParseExchange(field[5], &quote->exchange)) {
    return BadField("exchange", field[5], kExchangeExpected);
  }
  if (!ParseNumber(field[6], UINT32_MAX, &flags, 16)) {
    return BadField("condition", field[6], kConditionExpected);
  }
  if (!ParseFlag(field[7], &suspicious)) {
    return BadField("suspicious", field[7], kSuspiciousExpected);
  }
  quote->mode = QuoteModeOf(flags, suspicious);
  return absl::OkStatus();
}

}  // namespace tickstack::feed
