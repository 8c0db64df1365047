#pragma once

// A file of a kdb+ database as its readers see it: its bytes, whether or not it is compressed on
// the disk.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/pinned_bytes.h"

namespace tickstack::disk {

// Immutable. Threads: any, concurrently. What Head() returns is valid as long as the StoredFile,
// and so are PinnedBytes of it without an owner. Truncating the file while it is open ends the
// process (base/mapping.h).
class StoredFile {
 public:
  // Maps the file; for a compressed one, also checks where its blocks are. Errors name the path.
  static absl::StatusOr<std::unique_ptr<const StoredFile>> Open(const std::string& path);

  virtual ~StoredFile() = default;
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }  // Uncompressed.
  uint64_t disk_bytes() const { return disk_bytes_; }

  // The first kPageBytes, or all of a shorter file. Cost: none, or decompressing one block once.
  virtual absl::StatusOr<std::span<const std::byte>> Head() const = 0;
  // Returns all bytes. For a compressed file, the first call decompresses all blocks; threads that
  // call it meanwhile share the work. The result takes bytes() of memory, outside of any query's
  // scratch memory, and is cached while it is held or there is room (decompressed_image.h), so
  // callers that read many rows should hold it. kDataLoss names path and byte; kResourceExhausted
  // if DecompressedBytesMax() does not allow it now.
  virtual absl::StatusOr<PinnedBytes> All() const = 0;
  // Passes all bytes to `visitor` from front to back, in pieces that begin at a multiple of their
  // size or are the only one, until it returns an error, which is then returned. Caches nothing:
  // for files that are read once. Memory: one block of a compressed file.
  using Visitor = absl::FunctionRef<absl::Status(uint64_t offset, std::span<const std::byte>)>;
  virtual absl::Status Visit(Visitor visitor) const = 0;
  virtual bool is_compressed() const { return false; }

 protected:
  StoredFile(std::string path, uint64_t bytes, uint64_t disk_bytes)
      : path_(std::move(path)), bytes_(bytes), disk_bytes_(disk_bytes) {}

 private:
  const std::string path_;
  const uint64_t bytes_;
  const uint64_t disk_bytes_;
};

}  // namespace tickstack::disk
