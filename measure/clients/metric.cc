#include "measure/clients/metric.h"

#include <algorithm>

namespace tickstack::measure {

Distribution DistributionOf(const Histogram& histogram) {
  return {.count = histogram.Count(),
          .min = histogram.Min(),
          .p50 = histogram.ValueAtPercentile(50),
          .p90 = histogram.ValueAtPercentile(90),
          .p99 = histogram.ValueAtPercentile(99),
          .p999 = histogram.ValueAtPercentile(99.9),
          .max = histogram.Max(),
          .mean = histogram.Mean()};
}

void Metric::Record(int64_t now_ns, int64_t value_ns) {
  whole_.Record(value_ns);
  size_t bucket = 0;
  while (bucket < DurationBuckets::kBounded && value_ns > DurationBuckets::UpperNs(bucket))
    ++bucket;
  ++buckets_.of_bucket[bucket];
  buckets_.sum_ns += static_cast<uint64_t>(std::max<int64_t>(0, value_ns));
  recent_.push_back({now_ns, value_ns});
  while (recent_.front().at_ns < now_ns - kRecentNs) recent_.pop_front();
}

void Metric::Reset() {
  whole_.Reset();
  recent_.clear();
}

Histogram Metric::LastMinute(int64_t now_ns) const {
  Histogram recent;
  for (const Recent& value : recent_) {
    if (value.at_ns >= now_ns - kRecentNs) recent.Record(value.value_ns);
  }
  return recent;
}

}  // namespace tickstack::measure
