#pragma once

// `tickstack metrics`: the metrics that the processes serve at /metrics.

namespace tickstack::cli {

// Prints docs/metrics.md, which is this output. Returns 0.
int RunMetrics();

}  // namespace tickstack::cli
