#pragma once

#include <cstdint>

namespace tickstack::query {

// The random numbers of a request, which begin with the same ones each time: a query gives the same
// answer twice. They are not those of kdb+. One thread.
//
// splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): it
// passes the usual tests, has one word of state, and every seed is as good as another.
class Random {
 public:
  static constexpr int32_t kDefaultSeed = -314'159;  // That of kdb+, whose numbers differ.

  int32_t seed() const { return seed_; }
  void Seed(int32_t seed);

  uint64_t Next();
  // Uniform in [0, bound). bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [0, 1), a multiple of 2^-53.
  double Fraction();

 private:
  int32_t seed_ = kDefaultSeed;
  uint64_t state_ = static_cast<uint64_t>(kDefaultSeed);
};

}  // namespace tickstack::query
