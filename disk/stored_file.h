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

// Immutable. Threads: any, concurrently. The bytes that Head() returns, and PinnedBytes without an
// owner, are valid while the StoredFile exists. Truncating the file while it is open ends the
// process (base/mapping.h).
//
// If the file has checksums, bytes are compared with them before they are used: when they are
// decompressed in a compressed file, otherwise when All, Visit or Verify is called.
class StoredFile {
 public:
  // Maps the file; for a compressed one, also checks where its blocks are. `checksums` is the
  // checksum file of the directory, or nullptr; with it, Open verifies the first block. `may_grow`
  // is as for VerifiedBlocks. Errors name the path.
  static absl::StatusOr<std::unique_ptr<const StoredFile>> Open(
      const std::string& path, const ChecksumFile* checksums = nullptr, bool may_grow = false);

  virtual ~StoredFile() = default;
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }  // Uncompressed.
  uint64_t disk_bytes() const { return on_disk_.size(); }

  // Returns the first kPageBytes, or all of a shorter file. Cost: for a compressed file, the first
  // call decompresses one block.
  virtual absl::StatusOr<std::span<const std::byte>> Head() const = 0;
  // Returns all bytes. For a compressed file, the first call decompresses all blocks; threads that
  // call it meanwhile share the work. The result then takes bytes() of memory, which is not a
  // query's scratch memory. It stays in memory while a caller holds it or the cache has room
  // (decompressed_image.h), so callers that read many rows should hold it. kDataLoss, with path and
  // byte, for damage; kResourceExhausted if the result would exceed DecompressedBytesMax().
  virtual absl::StatusOr<PinnedBytes> All() const = 0;
  // Returns all bytes as All() does, but does not verify the bytes of an uncompressed file. The
  // caller must call Verify for the bytes that it reads.
  virtual absl::StatusOr<PinnedBytes> InPlace() const { return All(); }
  // Copies the bytes from `begin` on to `out`; they must be within bytes(). Verifies them, caches
  // nothing, and decompresses only the blocks that hold these bytes. For readers of a long file in
  // pieces, whose memory must not grow with the file. kDataLoss as for All().
  virtual absl::Status Read(uint64_t begin, std::span<std::byte> out) const = 0;
  // Compares the blocks of bytes [begin, end), which must be within bytes(), with their checksums;
  // each block only once. OK if there are no checksums. kDataLoss, with path, byte, block and rows,
  // for damage.
  absl::Status Verify(uint64_t begin, uint64_t end) const {
    if (is_verified() || is_compressed_) return absl::OkStatus();
    if (blocks_->IsInVerifiedBlock(begin, end)) return absl::OkStatus();
    return VerifyOnDisk(begin, end);
  }
  // Does the same for bytes on the disk, whose positions are below disk_bytes(). Its errors do not
  // name the rows of a compressed file.
  absl::Status VerifyOnDisk(uint64_t begin, uint64_t end) const {
    return VerifyOnDisk(begin, end, 0, 0);
  }
  // Passes all bytes to `visitor` from front to back, in pieces of equal size except the last.
  // Stops at the first error of the visitor, and returns it. Caches nothing, so use it for files
  // that are read once. Memory: one block of a compressed file.
  using Visitor = absl::FunctionRef<absl::Status(uint64_t offset, std::span<const std::byte>)>;
  virtual absl::Status Visit(Visitor visitor) const = 0;
  bool is_compressed() const { return is_compressed_; }
  bool has_checksums() const { return blocks_ != nullptr; }
  // True if Verify has nothing to compare any more: all blocks were verified, or there are no
  // checksums.
  bool is_verified() const { return blocks_ == nullptr || blocks_->complete(); }

  // Where rows of equal width are in bytes(), so that errors can name rows. It must be set before
  // other threads see the file.
  struct Rows {
    uint64_t offset = 0;
    size_t width = 0;  // 0: unknown.
    uint64_t count = 0;
  };
  void SetRows(const Rows& rows) const { rows_ = rows; }

 protected:
  StoredFile(std::string path, uint64_t bytes, std::span<const std::byte> on_disk,
             std::unique_ptr<const VerifiedBlocks> blocks, bool is_compressed)
      : path_(std::move(path)),
        bytes_(bytes),
        on_disk_(on_disk),
        blocks_(std::move(blocks)),
        is_compressed_(is_compressed) {}

  // Does the same, but if [image_begin, image_end) is not empty, an error names the rows in these
  // bytes of bytes() instead of those in the block.
  absl::Status VerifyOnDisk(uint64_t begin, uint64_t end, uint64_t image_begin,
                            uint64_t image_end) const;

 private:
  std::string RowsOf(uint64_t begin, uint64_t end) const;

  const std::string path_;
  const uint64_t bytes_;
  const std::span<const std::byte> on_disk_;
  const std::unique_ptr<const VerifiedBlocks> blocks_;  // nullptr without checksums.
  const bool is_compressed_;
  mutable Rows rows_;
};

}  // namespace tickstack::disk
