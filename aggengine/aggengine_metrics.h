#pragma once

// The metrics that an aggregation engine exports at /metrics, and the reasons why it is not ready
// (serve/process_status.h).

#include <span>

#include "aggengine/engine.h"
#include "serve/health.h"
#include "serve/metrics.h"

namespace tickstack::aggengine {

std::span<const serve::Metric> Metrics();
// Threads: the engine's.
serve::StatusFacts FactsOf(const Engine& engine);
// Threads: any.
serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits);

}  // namespace tickstack::aggengine
