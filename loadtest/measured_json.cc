#include "loadtest/measured_json.h"

#include <nlohmann/json.hpp>

namespace tickstack::loadtest {
namespace {

constexpr int kFileDigits = 2;  // Precision of histograms in files: 1 %.

double MsOf(int64_t ns) { return static_cast<double>(ns) / 1e6; }

}  // namespace

nlohmann::ordered_json SpanJson(const Histogram& histogram) {
  if (histogram.Count() == 0) {
    return {{"count", 0},
            {"p50_ms", nullptr},
            {"p99_ms", nullptr},
            {"p999_ms", nullptr},
            {"max_ms", nullptr}};
  }
  return {{"count", histogram.Count()},
          {"p50_ms", MsOf(histogram.ValueAtPercentile(50))},
          {"p99_ms", MsOf(histogram.ValueAtPercentile(99))},
          {"p999_ms", MsOf(histogram.ValueAtPercentile(99.9))},
          {"max_ms", MsOf(histogram.Max())}};
}

nlohmann::ordered_json MeasuredJson(const Measured& measured) {
  Histogram coarse(int64_t{1} << 42, kFileDigits);
  coarse.Merge(measured.whole);
  nlohmann::ordered_json counters = nlohmann::ordered_json::array();
  for (const auto& [upper_ns, count] : coarse.Counters())
    counters.push_back({MsOf(upper_ns), count});
  return {{"whole", SpanJson(measured.whole)},
          {"last_minute", SpanJson(measured.last_minute)},
          {"histogram", std::move(counters)}};
}

}  // namespace tickstack::loadtest
