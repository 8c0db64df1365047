#pragma once

// NUMA nodes, through libnuma: lists them and their memory, and binds a process to one. Threads:
// any. A machine without NUMA has node 0.

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tickstack::mem {

// Returns kNotFound if one of `nodes` has no memory; the error names the nodes that have some.
absl::Status CheckNodes(const std::vector<int>& nodes);
// Return the total and the free memory of nodes that CheckNodes accepts, in bytes.
size_t TotalBytesOf(const std::vector<int>& nodes);
size_t FreeBytesOf(const std::vector<int>& nodes);
// Returns "NUMA node 1", "NUMA nodes 0,1".
std::string NodesText(const std::vector<int>& nodes);

// Runs this thread, and those that it starts, on the processors of `node`, and allocates all their
// memory there, like `numactl -N node -m node`. Does not affect the memory of tiers that name
// nodes. Call it before other threads exist. kNotFound as for CheckNodes, or if the node has no
// processors.
absl::Status BindProcessToNode(int node);

}  // namespace tickstack::mem
