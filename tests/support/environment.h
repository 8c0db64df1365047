#pragma once

// Numbers that a test takes from its environment, such as how many seeds to try.

#include <cstdint>
#include <cstdlib>

namespace tickstack {

inline uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace tickstack
