#include "query/language/random.h"

#include <atomic>
#include <random>

namespace tickstack::query {
namespace {

// Returns another seed at each call, until all have been returned. The first one is random.
int32_t NewSeed() {
  static std::atomic<uint32_t> seed(std::random_device{}());
  constexpr uint32_t kStep = 0x9e3779b9;  // Odd, so that it reaches every number.
  return static_cast<int32_t>(seed.fetch_add(kStep, std::memory_order_relaxed));
}

}  // namespace

Random::Place& Random::Begun() {
  if (!place_.has_value()) Seed(NewSeed());
  return *place_;
}

int32_t Random::seed() { return Begun().seed; }

void Random::Seed(int32_t seed) { place_ = Place{seed, static_cast<uint64_t>(seed)}; }

uint64_t Random::Next() {
  uint64_t& state = Begun().state;
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// The high word of a product is uniform except for the low words that come once too often, which
// are drawn again (Lemire, "Fast random integer generation in an interval", 2019).
uint64_t Random::Below(uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  Wide product = Wide{Next()} * bound;
  if (static_cast<uint64_t>(product) < bound) {
    const uint64_t too_often = -bound % bound;
    while (static_cast<uint64_t>(product) < too_often) product = Wide{Next()} * bound;
  }
  return static_cast<uint64_t>(product >> 64);
}

double Random::Fraction() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

}  // namespace tickstack::query
