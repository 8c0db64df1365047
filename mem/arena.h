#pragma once

// The memory of a tier: pages of 2 MiB at addresses that do not change while the arena exists. Each
// kind of memory has its own class. PageAllocator tracks which bytes are allocated.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mem/tier.h"

namespace tickstack::mem {

// Threads: any; everything except Ready is constant after construction, and Ready is called under
// the tier's lock.
class Arena {
 public:
  virtual ~Arena() = default;

  // Pages that are contiguous in memory. The page numbers of the next region follow after one
  // excluded page, so that no run of pages crosses regions.
  struct Region {
    std::byte* base;
    size_t first_page;
    size_t pages;
  };
  std::span<const Region> regions() const { return regions_; }
  size_t pages() const { return regions_.back().first_page + regions_.back().pages; }
  std::byte* At(size_t offset) const;
  size_t OffsetOf(const std::byte* memory) const;
  bool Has(const std::byte* memory) const;

  // Makes the pages below `end_page` usable. kResourceExhausted if the machine has no more.
  virtual absl::Status Ready(size_t /*end_page*/) { return absl::OkStatus(); }
  // Touches pages for writing, so that later stores do not fault. kResourceExhausted if the memory
  // is not available; then nothing may be stored there.
  virtual absl::Status Touch(std::byte* memory, size_t bytes);
  // DRAM that the pages occupy now, of which `touched_bytes` were ever touched.
  virtual size_t ResidentBytes(size_t touched_bytes) const = 0;
  // Sets path, filesystem, dax and nodes.
  virtual void Describe(TierStats& stats) const = 0;

 protected:
  std::vector<Region> regions_;
};

// One region that is a mapped file; the creator of the mapping unmaps it.
class MappedFileArena : public Arena {
 public:
  MappedFileArena(std::string path, std::string filesystem, bool dax, std::byte* base,
                  size_t pages);
  size_t ResidentBytes(size_t touched_bytes) const override;
  void Describe(TierStats& stats) const override;

 private:
  const std::string path_;
  const std::string filesystem_;
  const bool dax_;
};

// Anonymous memory: dram and numa. kNotFound for a node that does not exist.
absl::StatusOr<std::unique_ptr<Arena>> MakeAnonymousArena(const TierOptions& options);
// An unlinked file of options.path with all of its blocks allocated.
absl::StatusOr<std::unique_ptr<Arena>> MakeFileArena(const TierOptions& options);
// The same from memkind's fs-backed kind.
absl::StatusOr<std::unique_ptr<Arena>> MakeMemkindArena(const TierOptions& options);

// kInvalidArgument if a file kind lacks its path or its size.
absl::Status CheckFileOptions(const TierOptions& options);

// The directory's file system ("tmpfs", "ext4", "xfs"...), and the bytes that are free for this
// user.
struct FilesystemFacts {
  std::string type;
  size_t free_bytes = 0;
};
absl::StatusOr<FilesystemFacts> FactsOfFilesystem(const std::string& directory);
// Returns whether a file of this directory can be mapped with MAP_SYNC: then the mapping is the
// memory.
bool IsDax(const std::string& directory);

// Page-cache bytes of a file mapping: one question to the kernel per GiB.
size_t PageCacheBytes(const std::byte* memory, size_t bytes);
// Address space of `bytes`, aligned to 2 MiB, that nothing may touch yet.
absl::StatusOr<std::byte*> ReserveAddresses(size_t bytes);

}  // namespace tickstack::mem
