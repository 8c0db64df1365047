#include "feed/sources/pace.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::feed {
namespace {

constexpr size_t kPhasesMax = 10'000;
constexpr double kPhaseSecondsMin = 0.001, kPhaseSecondsMax = 1e6;
constexpr double kPhaseRateMax = 1e9;

unsigned __int128 StepOf(double rate) {
  return static_cast<unsigned __int128>(std::ldexp(static_cast<double>(kNsPerSecond) / rate, 32));
}

}  // namespace

Pace::Pace(double rate) : phases_{{0, 0, INT64_MAX, StepOf(rate)}} {}

absl::StatusOr<Pace> Pace::Create(const std::vector<PacePhase>& phases) {
  if (phases.empty() || phases.size() > kPhasesMax) {
    return InvalidArgument("phases: expected 1 to {}, found {}", kPhasesMax, phases.size());
  }
  Pace pace;
  int64_t begin_ns = 0, first = 0;
  for (const PacePhase& phase : phases) {
    if (!(phase.seconds >= kPhaseSecondsMin && phase.seconds <= kPhaseSecondsMax)) {
      return InvalidArgument("phase: seconds {}: expected {} to {}", phase.seconds,
                             kPhaseSecondsMin, kPhaseSecondsMax);
    }
    if (!(phase.rate >= 0 && phase.rate <= kPhaseRateMax)) {
      return InvalidArgument("phase: rate {}: expected 0 to {}", phase.rate, kPhaseRateMax);
    }
    const int64_t updates = std::llround(phase.seconds * phase.rate);
    const double rate = updates == 0 ? 1 : static_cast<double>(updates) / phase.seconds;
    pace.phases_.push_back({begin_ns, first, updates, StepOf(rate)});
    begin_ns += std::llround(phase.seconds * static_cast<double>(kNsPerSecond));
    first += updates;
  }
  if (first == 0) return InvalidArgument("phases: expected an update in one of them, found none");
  if (phases.size() == 1) return Pace(static_cast<double>(first) / phases[0].seconds);
  pace.cycle_ns_ = begin_ns;
  pace.cycle_updates_ = first;
  return pace;
}

int64_t Pace::DueInPhasesNs(int64_t number) const {
  const int64_t cycle = number / cycle_updates_, within = number % cycle_updates_;
  // The last phase that begins at or before it, and has updates.
  const auto after =
      std::upper_bound(phases_.begin(), phases_.end(), within,
                       [](int64_t n, const Phase& phase) { return n < phase.first; });
  const Phase& phase = *std::prev(after);
  return cycle * cycle_ns_ + phase.begin_ns + Scaled(within - phase.first, phase.step);
}

int64_t Pace::DueBy(int64_t ns) const {
  if (ns < 0) return 0;
  const int64_t cycle = ns / cycle_ns_, within_ns = ns % cycle_ns_;
  const auto after =
      std::upper_bound(phases_.begin(), phases_.end(), within_ns,
                       [](int64_t at, const Phase& phase) { return at < phase.begin_ns; });
  const Phase& phase = *std::prev(after);
  // Updates with number * step < elapsed + 1 ns: a ceiling.
  const auto elapsed = static_cast<__int128>(within_ns - phase.begin_ns + 1) << 32;
  const __int128 due = (elapsed - 1) / static_cast<__int128>(phase.step) + 1;
  const int64_t before = cycle == 0 ? 0 : cycle * cycle_updates_;
  return before + phase.first + static_cast<int64_t>(std::min<__int128>(due, phase.updates));
}

}  // namespace tickstack::feed
