#pragma once

#include <string_view>

namespace tickstack::loadtest {

// What this program was built from, and how: cmake/build_facts.cmake writes it at each build.
struct BuildFacts {
  std::string_view version;
  std::string_view commit;  // With "-changed" behind it if files differed; "" without a repository.
  std::string_view flags;
};
extern const BuildFacts kBuildFacts;

}  // namespace tickstack::loadtest
