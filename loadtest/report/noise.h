#pragma once

#include <optional>

namespace tickstack::loadtest::report {

// The 99 % latency in ms from which a bare relay beside the stacks shows that other programs, or
// the stacks together, kept it from a processor: it does nothing but pass on small messages.
inline constexpr double kNoisyRelayMs = 10;

inline bool IsNoisy(std::optional<double> relay_p99_ms) {
  return relay_p99_ms.value_or(0) >= kNoisyRelayMs;
}

}  // namespace tickstack::loadtest::report
