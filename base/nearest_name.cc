#include "base/nearest_name.h"

#include <algorithm>
#include <cstddef>

namespace tickstack {
namespace {

// Returns how many letters have to be inserted, removed, replaced, or swapped with their neighbour.
size_t EditDistance(std::string_view a, std::string_view b) {
  // [i][j]: between the first i letters of a and the first j of b.
  std::vector<std::vector<size_t>> of(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        of[i][j] = i + j;
        continue;
      }
      const size_t replaced = of[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      of[i][j] = std::min({of[i - 1][j] + 1, of[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) of[i][j] = std::min(of[i][j], of[i - 2][j - 2] + 1);
    }
  }
  return of[a.size()][b.size()];
}

}  // namespace

std::string NearestName(std::string_view name, const std::vector<std::string>& known) {
  std::string nearest;
  size_t least = name.size() / 3 + 2;  // Half of a short name is too much.
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < least && distance < candidate.size()) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace tickstack
