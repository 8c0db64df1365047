// memkind's fs-backed kind as memory, for comparison with systems that use it: an unlinked file per
// kind, from which jemalloc takes extents.
//
// memkind is only asked for slabs of at least 64 MiB, all of them when the arena opens: small
// requests are returned unaligned and with gaps (a chunk of 2 MiB takes 2 MiB + 4 KiB of the file,
// an aligned one 4 MiB), and a kind reserves nothing in advance. A slab is page aligned, so up to 2
// MiB of it are lost to the alignment of our pages. On DAX, the file's blocks are then aligned
// differently from our addresses, and faults map 4 KiB. Our own arena has neither problem.

#include <memkind.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/status.h"
#include "mem/arena.h"

namespace tickstack::mem {
namespace {

constexpr size_t kSlabBytesMin = size_t{64} << 20;

absl::Status MemkindStatus(int error, std::string_view call) {
  char text[MEMKIND_ERROR_MESSAGE_SIZE];
  memkind_error_message(error, text, sizeof(text));
  return Internal("{}: {}", call, text);
}

class MemkindArena final : public Arena {
 public:
  MemkindArena(std::string path, FilesystemFacts facts, memkind_t kind)
      : path_(std::move(path)), facts_(std::move(facts)), dax_(IsDax(path_)), kind_(kind) {}
  ~MemkindArena() override { memkind_destroy_kind(kind_); }

  // Returns false if the file system has no more space.
  bool AddSlab(size_t bytes) {
    void* const slab = memkind_malloc(kind_, bytes);
    if (slab == nullptr) return false;
    const auto address = reinterpret_cast<uintptr_t>(slab);
    const size_t head =
        (Tier::kHugePageBytes - address % Tier::kHugePageBytes) % Tier::kHugePageBytes;
    const size_t first_page = regions_.empty() ? 0 : pages() + 1;
    regions_.push_back(
        {static_cast<std::byte*>(slab) + head, first_page, (bytes - head) / Tier::kHugePageBytes});
    return true;
  }

  size_t ResidentBytes(size_t) const override {
    size_t bytes = 0;
    if (dax_) return bytes;
    for (const Region& region : regions_) {
      const size_t region_bytes = region.pages * Tier::kHugePageBytes;
      bytes += facts_.type == "tmpfs" ? region_bytes : PageCacheBytes(region.base, region_bytes);
    }
    return bytes;
  }
  void Describe(TierStats& stats) const override {
    stats.path = path_;
    stats.filesystem = facts_.type;
    stats.dax = dax_;
  }

 private:
  const std::string path_;
  const FilesystemFacts facts_;
  const bool dax_;
  memkind_t const kind_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Arena>> MakeMemkindArena(const TierOptions& options) {
  TS_ASSIGN_OR_RETURN(FilesystemFacts facts, FactsOfFilesystem(options.path));
  const size_t free_bytes = facts.free_bytes;
  memkind_t kind = nullptr;
  // 0: limited only by the file system, since a limit would count extents and not our bytes.
  if (const int error = memkind_create_pmem(options.path.c_str(), 0, &kind); error != 0) {
    return Annotate(MemkindStatus(error, "memkind_create_pmem"), options.path);
  }
  const std::string type = facts.type;
  auto arena = std::make_unique<MemkindArena>(options.path, std::move(facts), kind);
  // A power of two is a size class of memkind: a slab between two classes would waste up to a
  // fifth.
  const size_t slab_bytes = std::max(kSlabBytesMin, std::bit_floor(options.capacity_bytes / 16));
  for (size_t bytes = 0; bytes < options.capacity_bytes; bytes += slab_bytes) {
    if (!arena->AddSlab(slab_bytes)) {
      return ResourceExhausted("{} ({}) had {} bytes free, memkind took {} of the tier's {}",
                               options.path, type, free_bytes, bytes, options.capacity_bytes);
    }
  }
  return arena;
}

}  // namespace tickstack::mem
