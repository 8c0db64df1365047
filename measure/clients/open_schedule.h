#pragma once

// The schedule of an open loop's questions, which does not depend on the answers. The time of a
// late question is measured from its time in the schedule, so the delay by a server that stalls is
// measured for every question that was due meanwhile.

#include <cstdint>
#include <random>

namespace tickstack::measure {

// Threads: one owner.
class OpenSchedule {
 public:
  // `every_ns`, above 0, is the mean interval. With `poisson`, intervals are random and
  // independent, as between the questions of many users; otherwise they are equal. The same seed
  // gives the same schedule.
  OpenSchedule(double every_ns, bool poisson, uint64_t seed);

  // Starts the schedule now with its first question.
  void Begin(int64_t now_ns);
  int64_t due_ns() const { return begin_ns_ + static_cast<int64_t>(after_ns_); }
  void Advance();                                  // Moves to the next question.
  void MoveClock(int64_t ns) { begin_ns_ += ns; }  // The wall clock was set ahead by `ns`.

 private:
  const double every_ns_;
  const bool poisson_;
  const uint64_t seed_;
  std::mt19937_64 random_;
  int64_t begin_ns_ = 0;
  uint64_t number_ = 0;
  double after_ns_ = 0;
};

}  // namespace tickstack::measure
