#pragma once

// When the questions of an open loop are due: a plan that is made without looking at the answers.
// Whoever is late with a question measures it from its time here, so a server that stalls cannot
// hide behind the questions that it kept from being asked.

#include <cstdint>
#include <random>

namespace tickstack::monitor {

// Threads: one owner.
class OpenSchedule {
 public:
  // `every_ns` above 0 is the mean between two; Poisson: independent of one another, as users are,
  // else all as far apart. The same seed gives the same plan.
  OpenSchedule(double every_ns, bool poisson, uint64_t seed);

  // The next one is the first of a plan that begins now.
  void Begin(int64_t now_ns);
  int64_t due_ns() const { return begin_ns_ + static_cast<int64_t>(after_ns_); }
  void Advance();  // To the one behind it.

 private:
  const double every_ns_;
  const bool poisson_;
  const uint64_t seed_;
  std::mt19937_64 random_;
  int64_t begin_ns_ = 0;
  uint64_t number_ = 0;
  double after_ns_ = 0;
};

}  // namespace tickstack::monitor
