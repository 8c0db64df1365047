#pragma once

// The metrics that an RDB exports at /metrics, and the reasons why it is not ready
// (serve/process_status.h).

#include <atomic>
#include <cstdint>
#include <span>

#include "rdb/rdb.h"
#include "rdb/rdb_environment.h"
#include "rdb/rdb_main.h"
#include "serve/process_status.h"

namespace tickstack::rdb {

std::span<const serve::Metric> Metrics();

// Threads: any. Unlike `.tier.stats[]`, does not ask the kernel which pages of tiers are resident.
serve::StatusFacts FactsOf(const Rdb& rdb, RdbEnvironment& environment);

// `subscribes`: false if it serves a log, without a tickerplant. Threads: any.
serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits,
                         bool subscribes);

// `ingest_ns` is when the ingest thread's loop ran last, as MonotonicNs. All must outlive the
// status.
serve::ProcessStatusOptions StatusOf(const RdbMainOptions& options, const Rdb& rdb,
                                     RdbEnvironment& environment,
                                     const std::atomic<int64_t>& ingest_ns);

}  // namespace tickstack::rdb
