#pragma once

// Formats numbers for people.

#include <cstdint>
#include <string>

namespace tickstack::loadtest {

std::string Thousands(int64_t number);  // "1,234,567"
std::string BytesText(uint64_t bytes);  // "1.2 GiB"
std::string MsText(double ms);          // "850 us", "12.3 ms", "4.6 s", "14 min 30 s"

}  // namespace tickstack::loadtest
