#pragma once

// Times as exchanges of crypto currencies write them, in ns since 2000 UTC. nullopt for other
// texts, and outside of 1970 to 2200.

#include <cstdint>
#include <optional>
#include <string_view>

namespace tickstack::feed::market {

// `2021-04-17T16:43:37.075687Z`: any number of decimals, of which 9 count.
std::optional<int64_t> ParseIsoTime(std::string_view text);

// Seconds since 1970 with any number of decimals, of which 9 count: `1618678142.557535`.
std::optional<int64_t> ParseUnixSeconds(std::string_view text);

// A whole number of units since 1970, such as ms with `unit_ns` = 1'000'000.
std::optional<int64_t> ParseUnixUnits(std::string_view text, int64_t unit_ns);

}  // namespace tickstack::feed::market
