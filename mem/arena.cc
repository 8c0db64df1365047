#include "mem/arena.h"

#include <sys/mman.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/status.h"

namespace tickstack::mem {
namespace {

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older kernels answer EINVAL.
#endif

constexpr size_t kSmallPageBytes = 4096;

std::string NameOfMagic(unsigned long magic) {
  switch (magic) {
    case 0x01021994:
      return "tmpfs";
    case 0xef53:
      return "ext4";
    case 0x58465342:
      return "xfs";
    case 0x9123683e:
      return "btrfs";
    case 0x794c7630:
      return "overlay";
    case 0x958458f6:
      return "hugetlbfs";
    case 0x6969:
      return "nfs";
    case 0x2fc12fc1:
      return "zfs";
    case 0x65735546:
      return "fuse";
    default:
      return fmt::format("{:#x}", magic);
  }
}

}  // namespace

std::byte* Arena::At(size_t offset) const {
  const size_t page = offset / Tier::kHugePageBytes;
  for (const Region& region : regions_) {
    if (page < region.first_page + region.pages) {
      TS_CHECK(page >= region.first_page);
      return region.base + (offset - region.first_page * Tier::kHugePageBytes);
    }
  }
  TS_CHECK(false);
  return nullptr;
}

bool Arena::Has(const std::byte* memory) const {
  return std::ranges::any_of(regions_, [memory](const Region& region) {
    return memory >= region.base && memory < region.base + region.pages * Tier::kHugePageBytes;
  });
}

size_t Arena::OffsetOf(const std::byte* memory) const {
  for (const Region& region : regions_) {
    if (memory >= region.base && memory < region.base + region.pages * Tier::kHugePageBytes) {
      return region.first_page * Tier::kHugePageBytes + static_cast<size_t>(memory - region.base);
    }
  }
  TS_CHECK(false);
  return 0;
}

absl::Status Arena::Touch(std::byte* memory, size_t bytes) {
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) return absl::OkStatus();
  const int error = errno;
  if (error != EINVAL) {
    return ResourceExhausted("{} bytes could not be touched: {}", bytes,
                             Message(ErrnoStatus(error, "madvise")));
  }
  for (size_t at = 0; at < bytes; at += kSmallPageBytes) {
    *static_cast<volatile std::byte*>(memory + at) = std::byte{0};
  }
  return absl::OkStatus();
}

MappedFileArena::MappedFileArena(std::string path, std::string filesystem, bool dax,
                                 std::byte* base, size_t pages)
    : path_(std::move(path)), filesystem_(std::move(filesystem)), dax_(dax) {
  regions_.push_back({base, 0, pages});
}

size_t MappedFileArena::ResidentBytes(size_t) const {
  const size_t bytes = regions_[0].pages * Tier::kHugePageBytes;
  if (dax_) return 0;
  // tmpfs allocated its memory with the file's blocks, but reports it as cached only after a touch.
  return filesystem_ == "tmpfs" ? bytes : PageCacheBytes(regions_[0].base, bytes);
}

void MappedFileArena::Describe(TierStats& stats) const {
  stats.path = path_;
  stats.filesystem = filesystem_;
  stats.dax = dax_;
}

absl::StatusOr<FilesystemFacts> FactsOfFilesystem(const std::string& directory) {
  struct statfs facts = {};
  if (statfs(directory.c_str(), &facts) != 0) return ErrnoStatus(errno, directory);
  return FilesystemFacts{NameOfMagic(static_cast<unsigned long>(facts.f_type)),
                         static_cast<size_t>(facts.f_bavail) * static_cast<size_t>(facts.f_bsize)};
}

size_t PageCacheBytes(const std::byte* memory, size_t bytes) {
  constexpr size_t kStepBytes = size_t{1} << 30;
  std::vector<unsigned char> resident(kStepBytes / kSmallPageBytes);
  size_t pages = 0;
  for (size_t at = 0; at < bytes; at += kStepBytes) {
    const size_t step = std::min(kStepBytes, bytes - at);
    if (mincore(const_cast<std::byte*>(memory) + at, step, resident.data()) != 0) continue;
    const size_t count = (step + kSmallPageBytes - 1) / kSmallPageBytes;
    pages += static_cast<size_t>(std::count_if(resident.begin(),
                                               resident.begin() + static_cast<ptrdiff_t>(count),
                                               [](unsigned char page) { return (page & 1) != 0; }));
  }
  return pages * kSmallPageBytes;
}

absl::StatusOr<std::byte*> ReserveAddresses(size_t bytes) {
  // One more page, so that it contains an aligned part; the rest is returned immediately.
  const size_t mapped = bytes + Tier::kHugePageBytes;
  void* const memory =
      mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, fmt::format("mmap of {} bytes", mapped));
  auto* const begin = static_cast<std::byte*>(memory);
  const size_t misaligned = reinterpret_cast<uintptr_t>(begin) % Tier::kHugePageBytes;
  const size_t head = misaligned == 0 ? 0 : Tier::kHugePageBytes - misaligned;
  if (head > 0) munmap(begin, head);
  munmap(begin + head + bytes, mapped - head - bytes);
  return begin + head;
}

}  // namespace tickstack::mem
