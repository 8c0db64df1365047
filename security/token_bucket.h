#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace tickstack::security {

// Lets `burst` events pass at once, and `per_second` after that. Threads: one at a time.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst)
      : per_second_(per_second), burst_(burst), tokens_(burst) {}

  // Returns whether an event may pass at this monotonic time, and counts it if so.
  bool Take(int64_t now_ns) {
    if (last_ns_ != INT64_MIN && now_ns > last_ns_) {
      const double seconds =
          static_cast<double>(now_ns - last_ns_) / static_cast<double>(kNsPerSecond);
      tokens_ = std::min(burst_, tokens_ + seconds * per_second_);
    }
    last_ns_ = std::max(last_ns_, now_ns);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  const double per_second_, burst_;
  double tokens_;
  int64_t last_ns_ = INT64_MIN;
};

}  // namespace tickstack::security
