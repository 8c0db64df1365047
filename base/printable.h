#pragma once

#include <string>
#include <string_view>

namespace tickstack {

// A text of unknown bytes for a terminal or a log: what is not printable ASCII becomes `\xHH`, and
// a backslash two. So nobody's file names clear a screen or forge a line.
std::string Printable(std::string_view text);

}  // namespace tickstack
