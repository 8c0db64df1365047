#pragma once

// One life of a gateway (docs/operating/gateway.md) with two rdbs and an hdb behind it, a
// tickerplant, two feeds and two askers, who send q to the gateway all the time: the end of a day
// with trouble, and then a time without, in which everything must converge.
//
// The tickerplant, the first rdb, which writes the partitions, and the hdb are on a machine with a
// disk; the others are not. All answers are compared with the logs: gateway_check.h.

#include <cstdint>
#include <string>

#include "tests/simulate/life.h"

namespace tickstack::simulate {

// Runs the life of this seed, in the empty directory `root`.
LifeReport LiveWithGateway(uint64_t seed, int days, const std::string& root);

}  // namespace tickstack::simulate
