#pragma once

#include <cstdint>
#include <optional>

namespace tickstack::query {

// The random numbers of a request. They continue those of the client's request before, if it keeps
// names (kept_names.h). Otherwise they begin with a seed that no other request has. The numbers
// differ from those of kdb+. For one thread.
//
// The generator is splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014). It passes the usual tests, has one word of state, and takes any seed.
class Random {
 public:
  int32_t seed();
  void Seed(int32_t seed);

  uint64_t Next();  // Uniform in [0, 2^64).
  // Uniform in [0, bound). bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [0, 1), a multiple of 2^-53.
  double Fraction();

  // A place in the numbers of a seed.
  struct Place {
    int32_t seed = 0;
    uint64_t state = 0;
  };
  // nullopt: there is no seed yet, since no number was drawn.
  const std::optional<Place>& place() const { return place_; }
  void Continue(Place place) { place_ = place; }

 private:
  Place& Begun();  // Takes a new seed if there is none yet.

  std::optional<Place> place_;
};

}  // namespace tickstack::query
