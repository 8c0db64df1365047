#pragma once

// The tests of the paper, by name.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/result.h"

namespace tickstack::loadtest {

// paper-test1: tickerplant and query timers of 50/300, 50/50, 1000/50 and 50/20 ms, each with two
//              stacks in DRAM and two in the second tier.
// paper-test2: timers of 1000/50 ms; one stack with two rdbs in DRAM, and one with ten in the
//              second tier.
//
// `second_tier` places a stack with one rdb in the second tier. Every test uses `profile`.
// kInvalidArgument for another name; the message lists the names.
absl::StatusOr<std::vector<TestSpec>> MakeMatrix(const std::string& name, const Profile& profile,
                                                 const Placement& second_tier);

// Returns the name of a test, such as "50/300".
std::string TestName(double batch_ms, double query_ms);

}  // namespace tickstack::loadtest
