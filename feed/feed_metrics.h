#pragma once

// The metrics that a feed exports at /metrics, and the reasons why it is not ready
// (serve/process_status.h).

#include <span>

#include "feed/feed_service.h"
#include "serve/health.h"
#include "serve/metrics.h"

namespace tickstack::feed {

std::span<const serve::Metric> Metrics();
// Threads: the service's loop.
serve::StatusFacts FactsOf(const FeedService& service);
// Threads: any.
serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits);

}  // namespace tickstack::feed
