#pragma once

// Numbers and texts for people: terminals, logs and pages. Output that programs read (JSON, CSV)
// has plain numbers instead.

#include <cstdint>
#include <string>
#include <string_view>

namespace tickstack {

// `1,234,567`.
std::string Thousands(int64_t number);

// Three digits and a unit of 1024: `512 B`, `46.0 KiB`, `171 MiB`, `0.990 GiB`.
std::string BytesText(double bytes);
std::string BytesText(uint64_t bytes);

// A duration in three digits and a unit that fits: `850 us`, `30.0 ms`, `1.04 s`, `4 min 45 s`,
// `2 h 5 min`.
std::string MsText(double ms);
std::string NsText(int64_t ns);

// For the text of HTML and XML and for quoted attributes: & < > " ' as entities. Other bytes are
// kept, whether or not they are UTF-8.
std::string EscapeHtml(std::string_view text);

}  // namespace tickstack
