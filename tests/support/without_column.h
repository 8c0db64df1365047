#pragma once

// For tests that list many wrong configurations, each with the line of its error. The tests of
// base/config and others compare columns, too.

#include <regex>
#include <string>

namespace tickstack {

// Turns `file:12:8: key: what` into `file:12: key: what`, in each line of the text.
inline std::string WithoutColumn(const std::string& error) {
  static const std::regex place(R"((\.toml:\d+):\d+: )");
  return std::regex_replace(error, place, "$1: ");
}

}  // namespace tickstack
