// Anonymous memory: DRAM, or the memory of chosen NUMA nodes.
//
// The address space of the whole capacity is reserved when the arena opens, and becomes memory in
// steps of 64 MiB, so that a tier without a limit costs only what is used of it. Transparent huge
// pages are requested with MADV_HUGEPAGE. Explicit ones are mapped, which reserves them in the
// kernel: MAP_HUGETLB with MAP_NORESERVE would cause SIGBUS later.
//
// With MPOL_BIND, the kernel kills a process when the nodes are full. So each step first checks how
// much memory the nodes have free, and all of a given capacity is checked at the start.

#include <numa.h>
#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/status.h"
#include "mem/arena.h"
#include "mem/numa.h"

namespace tickstack::mem {
namespace {

constexpr size_t kStepPages = 32;
// Memory that is left to the kernel on a node.
constexpr size_t kNodeReserveBytes = size_t{64} << 20;

size_t MachineBytes() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

class AnonymousArena final : public Arena {
 public:
  AnonymousArena(const TierOptions& options, std::byte* base, size_t pages)
      : huge_pages_(options.huge_pages),
        nodes_(options.nodes),
        is_dram_(options.kind != TierKind::kNuma) {
    regions_.push_back({base, 0, pages});
  }
  ~AnonymousArena() override { munmap(regions_[0].base, regions_[0].pages * Tier::kHugePageBytes); }

  absl::Status Bind() {
    if (nodes_.empty()) return absl::OkStatus();
    bitmask* const mask = numa_allocate_nodemask();
    for (const int node : nodes_) numa_bitmask_setbit(mask, static_cast<unsigned>(node));
    const long failed = mbind(regions_[0].base, regions_[0].pages * Tier::kHugePageBytes, MPOL_BIND,
                              mask->maskp, mask->size + 1, 0);
    const int error = errno;
    numa_free_nodemask(mask);
    if (failed != 0) return ErrnoStatus(error, fmt::format("mbind to {}", NodesText(nodes_)));
    return absl::OkStatus();
  }

  absl::Status Ready(size_t end_page) override {
    if (end_page <= ready_pages_) return absl::OkStatus();
    end_page = std::min((end_page + kStepPages - 1) / kStepPages * kStepPages, regions_[0].pages);
    std::byte* const begin = regions_[0].base + ready_pages_ * Tier::kHugePageBytes;
    const size_t bytes = (end_page - ready_pages_) * Tier::kHugePageBytes;
    if (!nodes_.empty()) {
      const size_t free_bytes = FreeBytesOf(nodes_);
      if (free_bytes < bytes + kNodeReserveBytes) {
        return ResourceExhausted("{} have {} bytes free, {} wanted", NodesText(nodes_), free_bytes,
                                 bytes + kNodeReserveBytes);
      }
    }
    if (huge_pages_ == HugePages::kExplicit) {
      void* const mapped = mmap(
          begin, bytes, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
      if (mapped == MAP_FAILED) {
        const int error = errno;
        // Replaces the failed mapping, so that no other mapping can take its addresses.
        mmap(begin, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0);
        return ResourceExhausted("{} pages of 2 MiB are not reserved (vm.nr_hugepages): {}",
                                 bytes / Tier::kHugePageBytes, Message(ErrnoStatus(error, "mmap")));
      }
      TS_RETURN_IF_ERROR(Bind());
    } else {
      if (mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0) {
        return ResourceExhausted("{} bytes more: {}", bytes,
                                 Message(ErrnoStatus(errno, "mprotect")));
      }
      // Advice: without huge pages it is merely slower.
      madvise(begin, bytes,
              huge_pages_ == HugePages::kTransparent ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    }
    ready_pages_ = end_page;
    return absl::OkStatus();
  }

  size_t ResidentBytes(size_t touched_bytes) const override { return is_dram_ ? touched_bytes : 0; }
  void Describe(TierStats& stats) const override {
    for (const int node : nodes_) {
      stats.nodes += fmt::format("{}{}", stats.nodes.empty() ? "" : ",", node);
    }
  }

 private:
  const HugePages huge_pages_;
  const std::vector<int> nodes_;
  const bool is_dram_;
  size_t ready_pages_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Arena>> MakeAnonymousArena(const TierOptions& options) {
  TS_RETURN_IF_ERROR(CheckNodes(options.nodes));
  const bool numa = options.kind == TierKind::kNuma;
  const bool is_explicit = options.huge_pages == HugePages::kExplicit;
  const size_t bytes =
      std::min(options.capacity_bytes, numa ? TotalBytesOf(options.nodes) : MachineBytes());
  const size_t capacity_pages = (bytes + Tier::kHugePageBytes - 1) / Tier::kHugePageBytes;
  // Reserves twice the capacity in addresses: small blocks take whole pages, and runs of pages
  // leave gaps, which cost no memory here. Explicit pages are reserved with their addresses.
  const size_t pages = is_explicit ? capacity_pages : capacity_pages * 2 + kStepPages;
  TS_ASSIGN_OR_RETURN(std::byte * base, ReserveAddresses(pages * Tier::kHugePageBytes));
  auto arena = std::make_unique<AnonymousArena>(options, base, pages);
  TS_RETURN_IF_ERROR(arena->Bind());
  if (numa && options.capacity_bytes != SIZE_MAX) {
    const size_t free_bytes = FreeBytesOf(options.nodes);
    if (free_bytes < options.capacity_bytes) {
      return ResourceExhausted("{} have {} bytes free, expected {} for the tier's size",
                               NodesText(options.nodes), free_bytes, options.capacity_bytes);
    }
  }
  if (is_explicit && options.capacity_bytes != SIZE_MAX) {
    TS_RETURN_IF_ERROR(arena->Ready(capacity_pages));
  }
  return arena;
}

}  // namespace tickstack::mem
