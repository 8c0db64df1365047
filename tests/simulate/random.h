#pragma once

// The one source of chance in a simulated world. The same seed gives the same numbers on every
// machine and with every compiler.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tickstack::simulate {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {  // splitmix64.
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t end) { return Next() % end; }
  int64_t Between(int64_t low, int64_t high) {  // Both may occur.
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low) + 1));
  }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

template <typename T>
const T& OneOf(Random& random, const std::vector<T>& values) {
  return values[random.Below(values.size())];
}

}  // namespace tickstack::simulate
