#pragma once

// For errors about a name that does not exist: the name that was probably meant.

#include <string>
#include <string_view>
#include <vector>

namespace tickstack {

// Returns the known name that is nearest to `name`, by the letters to insert, remove,
// replace or swap; empty if none is near. Cost: O(names * length^2).
std::string NearestName(std::string_view name, const std::vector<std::string>& known);

}  // namespace tickstack
