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

  // Pages that are contiguous in memory. Between the page numbers of two regions, one number is
  // excluded, so that no run of pages crosses regions.
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
  // Returns the DRAM that the arena's pages occupy now. `touched_bytes` is the size of the pages
  // that were ever touched.
  virtual size_t ResidentBytes(size_t touched_bytes) const = 0;
  // Sets path, filesystem, dax and nodes.
  virtual void Describe(TierStats& stats) const = 0;

 protected:
  std::vector<Region> regions_;
};

// An arena of one region, which is a mapped file. The creator of the mapping must unmap it.
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

// Anonymous memory, for the kinds dram and numa. kNotFound if a node of options.nodes does not
// exist.
absl::StatusOr<std::unique_ptr<Arena>> MakeAnonymousArena(const TierOptions& options);
// An unlinked file of options.path with all of its blocks allocated.
absl::StatusOr<std::unique_ptr<Arena>> MakeFileArena(const TierOptions& options);
// The memory of memkind's fs-backed kind, in a file of options.path.
absl::StatusOr<std::unique_ptr<Arena>> MakeMemkindArena(const TierOptions& options);

// kInvalidArgument if a file kind lacks its path or its size.
absl::Status CheckFileOptions(const TierOptions& options);

// The type of a directory's file system ("tmpfs", "ext4", "xfs"...), and the bytes in it that this
// user may still allocate.
struct FilesystemFacts {
  std::string type;
  size_t free_bytes = 0;
};
absl::StatusOr<FilesystemFacts> FactsOfFilesystem(const std::string& directory);
// True if a file of this directory can be mapped with MAP_SYNC: stores into such a mapping go to
// the memory itself, without a page cache.
bool IsDax(const std::string& directory);

// Returns how many bytes of a file mapping are in the page cache. Cost: one system call per GiB.
size_t PageCacheBytes(const std::byte* memory, size_t bytes);
// Reserves address space of `bytes`, aligned to 2 MiB. It must not be accessed before memory is
// mapped there.
absl::StatusOr<std::byte*> ReserveAddresses(size_t bytes);

}  // namespace tickstack::mem
