#pragma once

// A file of a kdb+ database as its readers see it: its bytes, whether it is compressed on the disk
// or not.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace tickstack {

// Immutable. Threads: any, at the same time. Bytes live as long as the StoredFile. A file that is
// cut short while it is open ends the process (base/mapping.h).
class StoredFile {
 public:
  // Maps the file; of a compressed one also checks where its blocks are. Errors name the path.
  static absl::StatusOr<std::unique_ptr<const StoredFile>> Open(const std::string& path);

  virtual ~StoredFile() = default;
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }  // Uncompressed.
  uint64_t disk_bytes() const { return disk_bytes_; }

  // The first kPageBytes, or all of a shorter file. Cost: none, or decompressing one block once.
  virtual absl::StatusOr<std::span<const std::byte>> Head() const = 0;
  // All bytes. Cost: none; or the first call decompresses all blocks, and what it made is kept:
  // memory of bytes(), outside of any query's scratch memory. kDataLoss names path and byte.
  virtual absl::StatusOr<std::span<const std::byte>> All() const = 0;
  // Memory that it holds besides mappings of the file.
  virtual uint64_t kept_bytes() const { return 0; }

 protected:
  StoredFile(std::string path, uint64_t bytes, uint64_t disk_bytes)
      : path_(std::move(path)), bytes_(bytes), disk_bytes_(disk_bytes) {}

 private:
  const std::string path_;
  const uint64_t bytes_;
  const uint64_t disk_bytes_;
};

}  // namespace tickstack
