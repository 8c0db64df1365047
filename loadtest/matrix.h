#pragma once

// The paper's tests, by name.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/result.h"

namespace tickstack::loadtest {

// paper-test1: tickerplant and query timers of 50/300, 50/50, 1000/50 and 50/20 ms, each with two
//              stacks in DRAM and two in the second tier.
// paper-test2: one stack with two rdbs in DRAM, and one with ten in the second tier, 1000/50.
//
// `second_tier` says how a stack with one rdb there is placed; the profile is that of every test.
// kInvalidArgument for another name, with those that there are.
absl::StatusOr<std::vector<TestSpec>> MakeMatrix(const std::string& name, const Profile& profile,
                                                 const Placement& second_tier);

// "50/300"
std::string TestName(double batch_ms, double query_ms);

}  // namespace tickstack::loadtest
