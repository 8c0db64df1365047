#pragma once

// Removes the column from the position of an error. For tests that list many wrong configurations
// and the line of each error; other tests, such as those of base/config, check the column as well.

#include <regex>
#include <string>

namespace tickstack {

// Turns `file:12:8: key: what` into `file:12: key: what`, in each line of the text.
inline std::string WithoutColumn(const std::string& error) {
  static const std::regex place(R"((\.toml:\d+):\d+: )");
  return std::regex_replace(error, place, "$1: ");
}

}  // namespace tickstack
