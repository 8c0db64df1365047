#pragma once

#include <string_view>

namespace tickstack {

// What this program was built from, and how. cmake/build_facts.cmake writes it at each build; the
// library is tickstack::build_facts.
struct BuildFacts {
  std::string_view version;  // From the git tags; cmake/version.cmake has the forms.
  // Ends in "-changed" if files differed from the commit; "" without a repository.
  std::string_view commit;
  std::string_view flags;
};
extern const BuildFacts kBuildFacts;

}  // namespace tickstack
