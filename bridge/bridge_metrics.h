#pragma once

// The bridge's metrics, and its reasons for not being ready.

#include <span>

#include "serve/health.h"
#include "serve/metrics.h"
#include "table/value.h"

namespace tickstack::bridge {

std::span<const serve::Metric> Metrics();
// `stats` is the answer to `.bridge.stats[]`.
serve::StatusFacts FactsOf(Value stats);
serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits);

}  // namespace tickstack::bridge
