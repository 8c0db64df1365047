#pragma once

// What a monitor exports at /metrics, and when it is not ready (serve/process_status.h).

#include <cstdint>
#include <span>

#include "monitor/monitor_service.h"
#include "serve/health.h"
#include "serve/metrics.h"

namespace tickstack::monitor {

std::span<const serve::Metric> Metrics();
// Threads: the service's loop.
serve::StatusFacts FactsOf(const MonitorService& service);
// `query_ns` is the interval of samples. Threads: any.
serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits,
                         int64_t query_ns);

}  // namespace tickstack::monitor
