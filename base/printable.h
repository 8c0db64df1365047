#pragma once

#include <string>
#include <string_view>

namespace tickstack {

// Makes a text of unknown bytes safe for a terminal or a log, so that a file name, for example,
// cannot clear a screen or forge a line. Each byte that is not printable ASCII becomes `\xHH`, and
// each backslash becomes two.
std::string Printable(std::string_view text);

}  // namespace tickstack
