#include "cli/metrics_command.h"

#include <fmt/format.h>

#include <string_view>

#include "cli/process_table.h"
#include "serve/metrics.h"
#include "serve/process_status.h"

namespace tickstack::cli {
namespace {

constexpr std::string_view kBegin = R"(# Metrics

What each process serves at `/metrics` on its port, in Prometheus' text format. How to scrape it,
and what to watch: [operating/watch.md](operating/watch.md#prometheus-and-grafana). This page is the
output of `tickstack metrics`.

- Units are Prometheus' base units: seconds and bytes.
- A counter starts at 0 with its process. A histogram has buckets at powers of two from 1.024 us to
  68.7 s, and `_sum` and `_count`.
- A metric in braces has a sample for each value of that label: for each table, tier or feed, and at
  most 1,000.
- A value that does not exist, such as the age of the last sample before there is one, is left out.
- The source is the function, and the entry of its answer, that has the same value for a client.

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
