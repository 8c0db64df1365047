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
#include "disk/checksum_file.h"
#include "disk/pinned_bytes.h"
#include "disk/verified_blocks.h"

namespace tickstack::disk {

// Immutable. Threads: any, concurrently. What Head() returns is valid as long as the StoredFile,
// and so are PinnedBytes of it without an owner. Truncating the file while it is open ends the
// process (base/mapping.h).
//
// If the file has checksums, bytes are compared with them before anybody reads them: those of a
// compressed file when they are decompressed, others when All, Visit or Verify is called.
class StoredFile {
 public:
  // Maps the file; for a compressed one, also checks where its blocks are. Verifies the first block
  // if `checksums`, those of the file's directory, is not nullptr. `may_grow` as for
  // VerifiedBlocks. Errors name the path.
  static absl::StatusOr<std::unique_ptr<const StoredFile>> Open(
      const std::string& path, const ChecksumFile* checksums = nullptr, bool may_grow = false);

  virtual ~StoredFile() = default;
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }  // Uncompressed.
  uint64_t disk_bytes() const { return on_disk_.size(); }

  // The first kPageBytes, or all of a shorter file. Cost: none, or decompressing one block once.
  virtual absl::StatusOr<std::span<const std::byte>> Head() const = 0;
  // Returns all bytes. For a compressed file, the first call decompresses all blocks; threads that
  // call it meanwhile share the work. The result takes bytes() of memory, outside of any query's
  // scratch memory, and is cached while it is held or there is room (decompressed_image.h), so
  // callers that read many rows should hold it. kDataLoss names path and byte; kResourceExhausted
  // if DecompressedBytesMax() does not allow it now.
  virtual absl::StatusOr<PinnedBytes> All() const = 0;
  // Returns all bytes as All() does, but those of a plain file unverified: the caller calls Verify
  // for those that it reads.
  virtual absl::StatusOr<PinnedBytes> InPlace() const { return All(); }
  // Compares bytes [begin, end), which are within bytes(), with their checksums, block by block;
  // each block only once. OK if there are none. kDataLoss names path, byte, block and rows.
  absl::Status Verify(uint64_t begin, uint64_t end) const {
    if (is_verified() || is_compressed()) return absl::OkStatus();
    return VerifyOnDisk(begin, end);
  }
  // The same for bytes as they are on the disk, below disk_bytes(). Does not know the rows of a
  // compressed file.
  absl::Status VerifyOnDisk(uint64_t begin, uint64_t end) const {
    return VerifyOnDisk(begin, end, 0, 0);
  }
  // Passes all bytes to `visitor` from front to back, in pieces that begin at a multiple of their
  // size or are the only one, until it returns an error, which is then returned. Caches nothing:
  // for files that are read once. Memory: one block of a compressed file.
  using Visitor = absl::FunctionRef<absl::Status(uint64_t offset, std::span<const std::byte>)>;
  virtual absl::Status Visit(Visitor visitor) const = 0;
  virtual bool is_compressed() const { return false; }
  bool has_checksums() const { return blocks_ != nullptr; }
  // True if Verify has nothing to compare any more: all blocks were verified, or there are no
  // checksums.
  bool is_verified() const { return blocks_ == nullptr || blocks_->complete(); }

  // Where rows of one width are in bytes(), for error messages. Set before other threads see the
  // file.
  struct Rows {
    uint64_t offset = 0;
    size_t width = 0;  // 0: unknown.
    uint64_t count = 0;
  };
  void SetRows(const Rows& rows) const { rows_ = rows; }

 protected:
  StoredFile(std::string path, uint64_t bytes, std::span<const std::byte> on_disk,
             std::unique_ptr<const VerifiedBlocks> blocks)
      : path_(std::move(path)), bytes_(bytes), on_disk_(on_disk), blocks_(std::move(blocks)) {}

  // The same for an error that names the rows of bytes [image_begin, image_end) of bytes() instead
  // of the block's own, unless that is empty.
  absl::Status VerifyOnDisk(uint64_t begin, uint64_t end, uint64_t image_begin,
                            uint64_t image_end) const;

 private:
  std::string RowsOf(uint64_t begin, uint64_t end) const;

  const std::string path_;
  const uint64_t bytes_;
  const std::span<const std::byte> on_disk_;
  const std::unique_ptr<const VerifiedBlocks> blocks_;  // nullptr without checksums.
  mutable Rows rows_;
};

}  // namespace tickstack::disk
