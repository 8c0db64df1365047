#include "mem/numa.h"

#include <numa.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/status.h"

namespace tickstack::mem {
namespace {

bool HasNuma() { return numa_available() >= 0; }

size_t MachinePages(int which) { return static_cast<size_t>(sysconf(which)); }

// Returns the total and free bytes of a node.
std::pair<size_t, size_t> BytesOf(int node) {
  if (!HasNuma()) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    if (node != 0) return {0, 0};
    return {MachinePages(_SC_PHYS_PAGES) * page, MachinePages(_SC_AVPHYS_PAGES) * page};
  }
  if (node < 0 || node > numa_max_node()) return {0, 0};
  long long free_bytes = 0;
  const long long total = numa_node_size64(node, &free_bytes);
  if (total <= 0) return {0, 0};
  return {static_cast<size_t>(total), static_cast<size_t>(std::max(free_bytes, 0LL))};
}

std::string NodesWithMemory() {
  std::string text;
  for (int node = 0; node <= (HasNuma() ? numa_max_node() : 0); ++node) {
    const size_t total = BytesOf(node).first;
    if (total == 0) continue;
    text += fmt::format("{}{} ({} MiB)", text.empty() ? "" : ", ", node, total >> 20);
  }
  return text;
}

}  // namespace

absl::Status CheckNodes(const std::vector<int>& nodes) {
  for (const int node : nodes) {
    if (BytesOf(node).first > 0) continue;
    return NotFound("NUMA node {} has no memory here, expected one of {}", node, NodesWithMemory());
  }
  return absl::OkStatus();
}

size_t TotalBytesOf(const std::vector<int>& nodes) {
  size_t bytes = 0;
  for (const int node : nodes) bytes += BytesOf(node).first;
  return bytes;
}

size_t FreeBytesOf(const std::vector<int>& nodes) {
  size_t bytes = 0;
  for (const int node : nodes) bytes += BytesOf(node).second;
  return bytes;
}

std::string NodesText(const std::vector<int>& nodes) {
  return fmt::format("NUMA node{} {}", nodes.size() == 1 ? "" : "s", fmt::join(nodes, ","));
}

absl::Status BindProcessToNode(int node) {
  TS_RETURN_IF_ERROR(CheckNodes({node}));
  if (!HasNuma()) return absl::OkStatus();  // One node, which has everything.
  if (numa_run_on_node(node) != 0) {
    return NotFound("NUMA node {}: no processors to run on: {}", node,
                    Message(ErrnoStatus(errno, "numa_run_on_node")));
  }
  bitmask* const mask = numa_allocate_nodemask();
  numa_bitmask_setbit(mask, static_cast<unsigned>(node));
  numa_set_membind(mask);
  numa_free_nodemask(mask);
  return absl::OkStatus();
}

}  // namespace tickstack::mem
