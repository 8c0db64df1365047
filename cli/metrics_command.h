#pragma once

// `tickstack metrics`: the metrics that the processes serve at /metrics.

namespace tickstack::cli {

// Prints the text of docs/metrics.md. Returns 0.
int RunMetrics();

}  // namespace tickstack::cli
