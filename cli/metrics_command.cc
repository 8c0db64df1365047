#include "cli/metrics_command.h"

#include <fmt/format.h>

#include <string_view>

#include "cli/process_table.h"
#include "serve/metrics.h"
#include "serve/process_status.h"

namespace tickstack::cli {
namespace {

constexpr std::string_view kBegin = R"(# Metrics

Each process serves these metrics at `/metrics` on its port, in Prometheus' text format. This page
is the output of `tickstack metrics`.
[operating/watch.md](operating/watch.md#prometheus-and-grafana) says how to scrape the metrics, and
what to watch.

- Times are in seconds and sizes in bytes, as is usual in Prometheus.
- A counter is 0 when its process starts. A histogram has buckets at powers of two from 1.024 us to
  68.7 s, `_sum` and `_count`.
- A label is shown in braces. The metric has one sample for each value of the label, such as each
  table, tier or feed, but at most 1,000 samples.
- A metric without a value is omitted, such as the age of the last sample before there is one.
- The column "source" names the q function that returns the same value, and the key in its answer.

)";

}  // namespace

int RunMetrics() {
  fmt::print("{}## Every process\n\n{}", kBegin, serve::MarkdownTable(serve::CommonMetrics(), ""));
  for (const ProcessKind& kind : kProcesses) {
    fmt::print("\n## {}\n\n{}", kind.role,
               serve::MarkdownTable(kind.metrics(), serve::MetricPrefix(kind.role)));
  }
  return 0;
}

}  // namespace tickstack::cli
