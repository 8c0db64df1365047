#pragma once

// Databento's numbers of publishers: a venue within a dataset.

#include <cstdint>
#include <string_view>

namespace tickstack::feed::market {

// Returns the venue of a publisher by its market identifier code, such as `XNAS`. `DBEQ` and `EQUS`
// are Databento's consolidated US equities. Empty: the number is not known.
std::string_view DbnVenue(uint16_t publisher);

}  // namespace tickstack::feed::market
