#pragma once

// NUMA nodes, through libnuma: which there are, what they have, and binding a process to one.
// Threads: any. On a machine without NUMA there is node 0.

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tickstack::mem {

// kNotFound, naming the nodes that have memory, if one of these does not.
absl::Status CheckNodes(const std::vector<int>& nodes);
// Sums over nodes that CheckNodes accepts.
size_t TotalBytesOf(const std::vector<int>& nodes);
size_t FreeBytesOf(const std::vector<int>& nodes);
// "NUMA node 1", "NUMA nodes 0,1".
std::string NodesText(const std::vector<int>& nodes);

// Runs this thread, and those that it starts, on the processors of `node`, and takes all their
// memory from there: `numactl -N node -m node`. Memory of tiers that name nodes is not affected.
// Call it before other threads exist. kNotFound as CheckNodes, or if the node has no processors.
absl::Status BindProcessToNode(int node);

}  // namespace tickstack::mem
