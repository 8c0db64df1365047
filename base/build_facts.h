#pragma once

#include <string_view>

namespace tickstack {

// Facts about the build of this program: version, commit and compiler flags.
// cmake/build_facts.cmake generates kBuildFacts at each build, as the library
// tickstack::build_facts.
struct BuildFacts {
  std::string_view version;  // From the git tags; cmake/version.cmake lists its forms.
  // The commit's hash, with the suffix "-changed" if files differed from it; "" without a
  // repository.
  std::string_view commit;
  std::string_view flags;
};
extern const BuildFacts kBuildFacts;

}  // namespace tickstack
