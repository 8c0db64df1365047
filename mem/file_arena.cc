// The memory of a filesystem tier: an unlinked file.
//
//   file in the directory   | 2 MiB | 2 MiB | ... |     O_TMPFILE: no other process can truncate it
//   addresses               ^ 2 MiB aligned, so that page n of the file can be one page of 2 MiB
//
// All blocks are allocated when the arena opens (fallocate), and holes are never punched: on a full
// file system, a store into a mapped hole causes SIGBUS, but a store into an allocated block never
// does, whoever fills the file system meanwhile.
//
// On a DAX mount (only there is MAP_SYNC accepted) the mapping is the memory. On tmpfs it is DRAM
// that the kernel counts as shared. On a disk it is the page cache, which is written back
// needlessly, and stores stall meanwhile.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/logging.h"
#include "base/status.h"
#include "mem/arena.h"

namespace tickstack::mem {
namespace {

// Opens a file without a name; -1 and errno on failure.
int OpenUnnamed(const std::string& directory) {
  const int fd = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  std::string path = directory + "/.tickstack-tier-XXXXXX";
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

class FileArena final : public MappedFileArena {
 public:
  using MappedFileArena::MappedFileArena;
  ~FileArena() override { munmap(regions_[0].base, regions_[0].pages * Tier::kHugePageBytes); }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Arena>> MakeFileArena(const TierOptions& options) {
  TS_ASSIGN_OR_RETURN(const FilesystemFacts facts, FactsOfFilesystem(options.path));
  const size_t pages = options.capacity_bytes / Tier::kHugePageBytes;
  const size_t bytes = pages * Tier::kHugePageBytes;
  const int fd = OpenUnnamed(options.path);
  if (fd < 0) return Annotate(ErrnoStatus(errno, "open"), options.path);
  // The mapping keeps the file, so the descriptor is closed in any case.
  const auto fail = [fd](const absl::Status& status) {
    close(fd);
    return status;
  };
  int allocated = 0;
  do {
    allocated = fallocate(fd, 0, 0, static_cast<off_t>(bytes));
  } while (allocated != 0 && errno == EINTR);
  if (allocated != 0) {
    const int error = errno;
    // ext4 keeps the blocks that it could allocate; closing the descriptor frees them, since the
    // file has no name.
    if (error == ENOSPC || error == EFBIG || error == EDQUOT) {
      return fail(ResourceExhausted("{} ({}) has {} bytes free, expected {} for the tier's size",
                                    options.path, facts.type, facts.free_bytes, bytes));
    }
    return fail(
        Annotate(ErrnoStatus(error, "fallocate"),
                 fmt::format("{} ({}) does not allocate blocks ahead", options.path, facts.type)));
  }
  absl::StatusOr<std::byte*> base = ReserveAddresses(bytes);
  if (!base.ok()) return fail(base.status());
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  bool dax = true;
  void* mapped = mmap(*base, bytes, kProtection, MAP_SHARED_VALIDATE | MAP_SYNC | MAP_FIXED, fd, 0);
  if (mapped == MAP_FAILED) {
    dax = false;
    mapped = mmap(*base, bytes, kProtection, MAP_SHARED | MAP_FIXED, fd, 0);
  }
  if (mapped == MAP_FAILED) {
    const int error = errno;
    munmap(*base, bytes);
    return fail(Annotate(ErrnoStatus(error, "mmap"), options.path));
  }
  close(fd);
  madvise(*base, bytes, MADV_HUGEPAGE);  // Advice, which tmpfs follows if the mount allows it.
  madvise(*base, bytes, MADV_DONTFORK);
  madvise(*base, bytes, MADV_DONTDUMP);
  if (!dax && facts.type != "tmpfs") {
    LogWarn(
        "tier is on a disk: stores stall while the kernel writes pages back tier={} path={} "
        "filesystem={}",
        options.name, options.path, facts.type);
  }
  return std::make_unique<FileArena>(options.path, facts.type, dax, *base, pages);
}

bool IsDax(const std::string& directory) {
  const int fd = OpenUnnamed(directory);
  if (fd < 0) return false;
  bool dax = false;
  if (ftruncate(fd, static_cast<off_t>(Tier::kHugePageBytes)) == 0) {
    void* const mapped = mmap(nullptr, Tier::kHugePageBytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    dax = mapped != MAP_FAILED;
    if (dax) munmap(mapped, Tier::kHugePageBytes);
  }
  close(fd);
  return dax;
}

}  // namespace tickstack::mem
