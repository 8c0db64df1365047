#pragma once

// Formats numbers for people.

#include <cstdint>
#include <string>

namespace tickstack::monitor {

std::string DurationText(int64_t ns);   // "850 us", "12.3 ms", "4.6 s": three digits are enough.
std::string Thousands(int64_t number);  // "1,234,567"

}  // namespace tickstack::monitor
