#pragma once

// The places that the benchmarks of tiers compare: every kind of memory that this machine has. Each
// is compared with DRAM of the same page size, because pages of 2 MiB alone make a scan 1.4 times
// as fast.

#include <memory>
#include <string>
#include <vector>

#include "mem/tier.h"

namespace tickstack::bench {

// A tmpfs with pages of 2 MiB, which only this process sees: it is mounted in a mount namespace
// that ends with the process.
class HugeTmpfs {
 public:
  // Must be called before a second thread starts. If this process may not mount, path() is "".
  HugeTmpfs();
  ~HugeTmpfs();
  HugeTmpfs(const HugeTmpfs&) = delete;
  HugeTmpfs& operator=(const HugeTmpfs&) = delete;

  const std::string& path() const { return path_; }        // "" if it could not be mounted.
  const std::string& refusal() const { return refusal_; }  // Why it could not be mounted.

 private:
  std::string path_;
  std::string refusal_;
};

struct Place {
  std::string name;
  std::string like;  // The DRAM place with pages of the same size; for DRAM, its own name.
  mem::TierOptions options;
};

// Returns dram and dram-4k, /dev/shm, the tmpfs of 2 MiB pages if there is one, and the disk at
// `directory`.
std::vector<Place> Places(const HugeTmpfs& huge_tmpfs, const std::string& directory);

// Opens a tier in a place with this capacity. If that fails, ends the program with a message.
std::unique_ptr<mem::Tier> Open(const Place& place, size_t capacity_bytes,
                                size_t touch_ahead_bytes = 0);

}  // namespace tickstack::bench
