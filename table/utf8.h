#pragma once

// Text for formats that take nothing but UTF-8: symbols and strings of q are any bytes.

#include <cstddef>
#include <string>
#include <string_view>

namespace tickstack {

// The bytes of the character that a text begins with, 1 to 4; 0 if they are not UTF-8: cut off, too
// long, a surrogate, or beyond U+10FFFF.
size_t Utf8Length(std::string_view text);

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";  // U+FFFD.

// Appends a text with U+FFFD for each byte that is not UTF-8.
void AppendUtf8(std::string& out, std::string_view text);

}  // namespace tickstack
