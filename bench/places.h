#pragma once

// The places that the tier benches compare: memory of each kind that this machine has, each with
// the DRAM of the same page size beside it, since pages of 2 MiB alone make a scan 1.4 times as
// fast.

#include <memory>
#include <string>
#include <vector>

#include "mem/tier.h"

namespace tickstack::bench {

// A tmpfs with pages of 2 MiB, mounted where only this process sees it; gone with it.
class HugeTmpfs {
 public:
  // Call before the first thread starts. Without the right to mount there is none.
  HugeTmpfs();
  ~HugeTmpfs();
  HugeTmpfs(const HugeTmpfs&) = delete;
  HugeTmpfs& operator=(const HugeTmpfs&) = delete;

  const std::string& path() const { return path_; }        // "": there is none,
  const std::string& refusal() const { return refusal_; }  // because of this.

 private:
  std::string path_;
  std::string refusal_;
};

struct Place {
  std::string name;
  std::string like;  // The place in DRAM with pages of the same size; its own name for DRAM.
  mem::TierOptions options;
};

// dram and dram-4k, /dev/shm, the tmpfs of 2 MiB pages if there is one, and the disk at
// `directory`.
std::vector<Place> Places(const HugeTmpfs& huge_tmpfs, const std::string& directory);

// The tier of a place with so much room; ends the program with a message if there is none.
std::unique_ptr<mem::Tier> Open(const Place& place, size_t capacity_bytes,
                                size_t touch_ahead_bytes = 0);

}  // namespace tickstack::bench
