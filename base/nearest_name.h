#pragma once

// Suggests a name in errors about one that does not exist.

#include <string>
#include <string_view>
#include <vector>

namespace tickstack {

// Returns the known name that needs the fewest insertions, removals, replacements and swaps of
// letters to become `name`; empty if none is similar. Cost: O(names * length^2).
std::string NearestName(std::string_view name, const std::vector<std::string>& known);

}  // namespace tickstack
