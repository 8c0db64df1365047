#include "bench/places.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/status.h"

namespace tickstack::bench {

HugeTmpfs::HugeTmpfs() {
  // The mount is visible only to this process, and ends with it.
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    refusal_ = fmt::format("no mount namespace: {}", std::strerror(errno));
    return;
  }
  std::string path = (std::filesystem::temp_directory_path() / "tickstack-bench-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    refusal_ = fmt::format("{}: {}", path, std::strerror(errno));
    return;
  }
  if (::mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "huge=always,mode=700") != 0) {
    refusal_ = fmt::format("no tmpfs with huge=always: {}", std::strerror(errno));
    ::rmdir(path.c_str());
    return;
  }
  path_ = path;
}

HugeTmpfs::~HugeTmpfs() {
  if (path_.empty()) return;
  ::umount2(path_.c_str(), MNT_DETACH);
  ::rmdir(path_.c_str());
}

std::vector<Place> Places(const HugeTmpfs& huge_tmpfs, const std::string& directory) {
  const auto in = [](const char* name, const char* like, std::string path) {
    mem::TierOptions options;
    options.name = name;
    options.kind = mem::TierKind::kFilesystem;
    options.path = std::move(path);
    return Place{name, like, options};
  };
  Place dram{"dram", "dram", {}}, dram_4k{"dram-4k", "dram-4k", {}};
  dram.options.name = dram.name;
  dram_4k.options.name = dram_4k.name;
  dram_4k.options.huge_pages = mem::HugePages::kNone;
  std::vector<Place> places = {dram, dram_4k, in("tmpfs-4k", "dram-4k", "/dev/shm")};
  if (!huge_tmpfs.path().empty()) places.push_back(in("tmpfs-huge", "dram", huge_tmpfs.path()));
  // The page cache of ext4 and xfs consists of large folios, so it is compared with large pages.
  places.push_back(in("disk", "dram", directory));
  return places;
}

std::unique_ptr<mem::Tier> Open(const Place& place, size_t capacity_bytes,
                                size_t touch_ahead_bytes) {
  mem::TierOptions options = place.options;
  options.capacity_bytes = capacity_bytes;
  options.touch_ahead_bytes = touch_ahead_bytes;
  absl::StatusOr<std::unique_ptr<mem::Tier>> tier = mem::OpenTier(options);
  if (!tier.ok()) {
    std::fprintf(stderr, "%s\n", std::string(Message(tier.status())).c_str());
    std::exit(1);
  }
  return *std::move(tier);
}

}  // namespace tickstack::bench
