#pragma once

// What an HDB exports at /metrics, and when it is not ready (serve/process_status.h).

#include <span>

#include "hdb/hdb_environment.h"
#include "hdb/hdb_main.h"
#include "serve/process_status.h"

namespace tickstack::hdb {

std::span<const serve::Metric> Metrics();

// Threads: any.
serve::StatusFacts FactsOf(HdbEnvironment& environment);

// Threads: any.
serve::Reasons ReasonsOf(const serve::StatusFacts& facts);

// The environment must outlive the status.
serve::ProcessStatusOptions StatusOf(const HdbMainOptions& options, HdbEnvironment& environment);

}  // namespace tickstack::hdb
