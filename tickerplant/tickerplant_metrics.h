#pragma once

// The metrics that a tickerplant exports at /metrics, and the reasons why it is not ready
// (serve/process_status.h).

#include <span>

#include "serve/health.h"
#include "serve/metrics.h"
#include "tickerplant/tickerplant_service.h"

namespace tickstack::tickerplant {

std::span<const serve::Metric> Metrics();
// The same metrics, and those of the upstream, for a chained tickerplant.
std::span<const serve::Metric> ChainedMetrics();
// The metrics of a standby, and the reasons why it is not ready. `replica` is its answer to
// `.u.replica[]`.
std::span<const serve::Metric> StandbyMetrics();
serve::StatusFacts FactsOfStandby(Value replica);
serve::Reasons StandbyReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits);
// Threads: the service's loop.
serve::StatusFacts FactsOf(const TickerplantService& service);
// Threads: any.
serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits);

}  // namespace tickstack::tickerplant
