#include "measure/clients/open_schedule.h"

#include <cmath>

namespace tickstack::measure {

OpenSchedule::OpenSchedule(double every_ns, bool poisson, uint64_t seed)
    : every_ns_(every_ns), poisson_(poisson), seed_(seed) {
  Begin(0);
}

void OpenSchedule::Begin(int64_t now_ns) {
  random_.seed(seed_);
  begin_ns_ = now_ns;
  number_ = 0;
  after_ns_ = 0;
  Advance();  // Otherwise all classes would begin with a question at once.
}

void OpenSchedule::Advance() {
  if (!poisson_) {
    // Multiplies, because a sum would drift from the grid.
    after_ns_ = static_cast<double>(++number_) * every_ns_;
    return;
  }
  const double share = static_cast<double>(random_() >> 11) * 0x1p-53;  // From 0 to below 1.
  after_ns_ -= every_ns_ * std::log1p(-share);
}

}  // namespace tickstack::measure
