#pragma once

#include <cstdint>

namespace tickstack {

// The finaliser of splitmix64: mixes all bits of a number, so that similar numbers become unlike.
// Never changes: digests of logs and the places of symbols depend on it.
inline uint64_t Scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace tickstack
