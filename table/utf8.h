#pragma once

// Converts texts to UTF-8 for formats that require it. Symbols and strings of q may contain any
// bytes.

#include <cstddef>
#include <string>
#include <string_view>

namespace tickstack {

// Returns the size of the character at the start of a text, 1 to 4 bytes; 0 if that is not valid
// UTF-8: incomplete, overlong, a surrogate, or beyond U+10FFFF.
size_t Utf8Length(std::string_view text);

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";  // U+FFFD.

// Appends a text, with U+FFFD instead of each byte that is not part of valid UTF-8.
void AppendUtf8(std::string& out, std::string_view text);

}  // namespace tickstack
