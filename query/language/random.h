#pragma once

#include <cstdint>

namespace tickstack::query {

// The random numbers of a request. Every request begins with the same seed, so that a query gives
// the same answer each time. The numbers differ from those of kdb+. For one thread.
//
// The generator is splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014). It passes the usual tests, has one word of state, and takes any seed.
class Random {
 public:
  static constexpr int32_t kDefaultSeed = -314'159;  // The default seed of kdb+.

  int32_t seed() const { return seed_; }
  void Seed(int32_t seed);

  uint64_t Next();  // Uniform in [0, 2^64).
  // Uniform in [0, bound). bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [0, 1), a multiple of 2^-53.
  double Fraction();

 private:
  int32_t seed_ = kDefaultSeed;
  uint64_t state_ = static_cast<uint64_t>(kDefaultSeed);
};

}  // namespace tickstack::query
