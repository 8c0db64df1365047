#pragma once

// Numbers and texts for people: terminals, logs and pages. Output that programs read (JSON, CSV)
// has plain numbers instead.

#include <cstdint>
#include <string>
#include <string_view>

namespace tickstack {

// Returns a number such as `1,234,567`.
std::string Thousands(int64_t number);

// Returns a size as three digits and a unit of a power of 1024: `512 B`, `46.0 KiB`, `171 MiB`,
// `0.990 GiB`.
std::string BytesText(double bytes);
std::string BytesText(uint64_t bytes);

// Returns a duration as three digits and a fitting unit, or as two units: `850 us`, `30.0 ms`,
// `1.04 s`, `4 min 45 s`, `2 h 5 min`.
std::string MsText(double ms);
std::string NsText(int64_t ns);

// Escapes a text for the content and the quoted attributes of HTML and XML: & < > " ' become
// entities. Other bytes are kept, whether or not they are UTF-8.
std::string EscapeHtml(std::string_view text);

}  // namespace tickstack
