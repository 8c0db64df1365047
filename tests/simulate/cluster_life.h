#pragma once

// One life of a cluster of three tickerplants (docs/operating/standby.md) with two feeds, a teller
// and two subscribers: the end of a day with trouble, such as lost machines, networks that are cut
// and processes that hang; and then a time without trouble, in which everything must converge.
//
// At any time, what a feed was told is logged is in the log of whichever member serves clients, and
// so is what was published; each member of the in-sync set has the leader's log. In the end, all
// rows are logged once, all logs have the same bytes, and subscribers have their rows.

#include <cstdint>
#include <string>

#include "tests/simulate/life.h"

namespace tickstack::simulate {

// Runs the life of this seed, in the working directory, which has the empty directory `root`.
LifeReport LiveAsCluster(uint64_t seed, int days, const std::string& root);

}  // namespace tickstack::simulate
