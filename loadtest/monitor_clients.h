#pragma once

// Reads the files in which a monitor writes what its clients measured.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "loadtest/result.h"

namespace tickstack::loadtest {

// Adds the clients of STEM.summary.json, and their slices of time from STEM.queries.csv, to the
// results of the stack. Times become relative to `begin_ns`. kNotFound if a file is missing;
// kDataLoss, with the fault, if it is damaged.
absl::Status AddMonitorClients(const std::string& stem, const std::string& rdb, int64_t begin_ns,
                               StackResult& stack);

}  // namespace tickstack::loadtest
