#pragma once

#include <string_view>

namespace tickstack::loadtest {

// What this program was built from, and how. cmake/build_facts.cmake writes it at each build.
struct BuildFacts {
  std::string_view version;
  // Ends in "-changed" if files differed from the commit; "" without a repository.
  std::string_view commit;
  std::string_view flags;
};
extern const BuildFacts kBuildFacts;

}  // namespace tickstack::loadtest
