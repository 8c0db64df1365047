#pragma once

#include <string>
#include <string_view>

namespace tickstack {

// Makes a text of unknown bytes safe for a terminal or a log: bytes other than printable ASCII
// become `\xHH`, and a backslash two. So a file name cannot clear a screen or forge a line.
std::string Printable(std::string_view text);

}  // namespace tickstack
