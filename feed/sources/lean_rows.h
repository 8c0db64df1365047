#pragma once

// Parses a line of a LEAN tick file strictly.
//
//   trade  ms,price,size,exchange,condition,suspicious
//   quote  ms,bid,bidsize,ask,asksize,exchange,condition,suspicious
//
// ms: milliseconds since midnight, New York wall clock, with or without a decimal fraction. Prices:
// in 1/10000 dollar. Sizes: shares. exchange: one letter. condition: hexadecimal flags. suspicious:
// 0 or 1.

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace tickstack::feed {

struct LeanTrade {
  int64_t of_day_ns;
  double price;  // Dollars.
  int32_t size;
  char exchange;
  char condition;  // SaleConditionOf().
  bool suspicious;
};

// A side that the line lacks has price 0 and size 0.
struct LeanQuote {
  int64_t of_day_ns;
  double bid;
  int64_t bid_size;
  double ask;
  int64_t ask_size;
  char exchange;
  char mode;  // QuoteModeOf().
};

// Parse one line. kInvalidArgument with the field, found and expected: `ms '12x', expected ...`. A
// success takes about 60 ns.
absl::Status ParseLeanTrade(std::string_view line, LeanTrade* trade);
absl::Status ParseLeanQuote(std::string_view line, LeanQuote* quote);

// Returns the consolidated tape's letter for LEAN's condition flags. Several flags may be set, but
// a kdb+ column has one letter: that of the flag that says most about whether the price counts.
// Official prices and auctions come first, then late and derived prices, then extended hours, odd
// lots and sweeps. '@' is a regular sale, ' ' (the null char) none of the known flags.
char SaleConditionOf(uint32_t flags);

// Returns the letter of a quote's flags: 'R' regular, 'O' opening, 'C' closing, ... A suspicious
// quote has the lower-case letter.
char QuoteModeOf(uint32_t flags, bool suspicious);

}  // namespace tickstack::feed
