#pragma once

// What a monitor's clients have left.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "loadtest/result.h"

namespace tickstack::loadtest {

// Adds what STEM.summary.json says of clients, and the slices of STEM.queries.csv, with times since
// `begin_ns`, to those of the stack. kNotFound, kDataLoss with what is wrong.
absl::Status AddMonitorClients(const std::string& stem, const std::string& rdb, int64_t begin_ns,
                               StackResult& stack);

}  // namespace tickstack::loadtest
