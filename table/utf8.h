#pragma once

// Conversion to UTF-8, for formats that require it: symbols and strings of q are any bytes.

#include <cstddef>
#include <string>
#include <string_view>

namespace tickstack {

// Returns the bytes of the character at the start of a text, 1 to 4; 0 if it is not UTF-8:
// incomplete, overlong, a surrogate, or beyond U+10FFFF.
size_t Utf8Length(std::string_view text);

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";  // U+FFFD.

// Appends a text with U+FFFD for each byte that is not UTF-8.
void AppendUtf8(std::string& out, std::string_view text);

}  // namespace tickstack
