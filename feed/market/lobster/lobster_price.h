#pragma once

// Prices of LOBSTER's files: whole numbers of 1/10000 dollar.

#include <cstdint>
#include <optional>
#include <string_view>

#include "feed/market/text_fields.h"

namespace tickstack::feed::market {

// Returns the price in dollars; nullopt if the text is no price.
inline std::optional<double> ParseLobsterPrice(std::string_view text) {
  constexpr double kUnits = 1e4;
  constexpr int64_t kMax = int64_t{1} << 53;  // Up to here, every number of units is a float.
  const std::optional<int64_t> units = ParseInteger(text);
  if (!units || *units < 0 || *units > kMax) return std::nullopt;
  return static_cast<double>(*units) / kUnits;
}

}  // namespace tickstack::feed::market
