#include "mem/medium.h"

#include <algorithm>
#include <utility>

#include "base/time.h"

namespace tickstack::mem {
namespace {

class SystemMediumClock final : public MediumClock {
 public:
  int64_t NowNs() const override { return MonotonicNs(); }
  void WaitUntil(int64_t ns) override {
    while (MonotonicNs() < ns) {
    }
  }
  int64_t CallNs() const override {
    static const int64_t call_ns = [] {
      int64_t least_ns = kNsPerSecond;
      for (int i = 0; i < 1000; ++i) {
        const int64_t before_ns = MonotonicNs();
        least_ns = std::min(least_ns, MonotonicNs() - before_ns);
      }
      return least_ns;
    }();
    return call_ns;
  }
};

}  // namespace

MediumClock& MediumClock::System() {
  static SystemMediumClock clock;
  return clock;
}

Medium::Medium(MediumModel model, std::unique_ptr<MediumTimeline> timeline, MediumClock& clock)
    : model_(std::move(model)),
      timeline_(std::move(timeline)),
      clock_(clock),
      // Half a call passes before it reports the start of the access, half of the call that ends
      // the wait, and that comes half a call late on average.
      asking_ns_(clock.CallNs() * 3 / 2) {}

MediumStats Medium::Stats() const {
  return {.read_bytes = read_bytes_.load(std::memory_order_relaxed),
          .written_bytes = written_bytes_.load(std::memory_order_relaxed),
          .waited_ns = waited_ns_.load(std::memory_order_relaxed)};
}

int64_t Medium::Read(int64_t begin_ns, const TouchedUnits& touched) {
  const uint64_t bytes = touched.all() * model_.unit_bytes;
  if (bytes == 0) return begin_ns;
  read_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return WaitFor(begin_ns, ReadNs(model_, touched),
                 static_cast<double>(bytes) / model_.read_gb_per_s, MediumTimeline::Lane::kRead);
}

int64_t Medium::Write(int64_t begin_ns, uint64_t units) {
  const uint64_t bytes = units * model_.unit_bytes;
  if (bytes == 0) return begin_ns;
  written_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return WaitFor(begin_ns, WriteNs(model_, units),
                 static_cast<double>(bytes) / model_.write_gb_per_s,
                 model_.full_duplex ? MediumTimeline::Lane::kWrite : MediumTimeline::Lane::kRead);
}

int64_t Medium::WaitFor(int64_t begin_ns, double thread_ns, double medium_ns,
                        MediumTimeline::Lane lane) {
  const int64_t medium_end_ns = timeline_->Take(lane, begin_ns, medium_ns);
  const int64_t end_ns = std::max(begin_ns + static_cast<int64_t>(thread_ns), medium_end_ns);
  const int64_t now_ns = clock_.NowNs();
  if (end_ns - asking_ns_ > now_ns) {
    waited_ns_.fetch_add(end_ns - asking_ns_ - now_ns, std::memory_order_relaxed);
    clock_.WaitUntil(end_ns - asking_ns_);
  }
  return end_ns;
}

}  // namespace tickstack::mem
