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
#include "base/mapping.h"
#include "disk/archived_bytes.h"
#include "disk/checksum_file.h"
#include "disk/pinned_bytes.h"
#include "disk/verified_blocks.h"

namespace tickstack::disk {

// Where the bytes of a file are: in a mapping, or in an object store (archived_bytes.h).
struct StoredBytes {
  Mapping mapping;                               // Empty for an archived file.
  std::shared_ptr<ArchivedBytes> archived;       // nullptr for a file that is on the disk.
  std::shared_ptr<const VerifiedBlocks> blocks;  // nullptr without checksums.

  std::span<const std::byte> bytes() const {
    return archived == nullptr ? mapping.bytes() : archived->bytes();
  }
};

// Immutable. Threads: any, concurrently. The bytes that Head() returns, and PinnedBytes without an
// owner, are valid while the StoredFile exists. Truncating the file while it is open ends the
// process (base/mapping.h).
//
// If the file has checksums, bytes are compared with them before they are used: when they are
// decompressed in a compressed file, otherwise when All, Visit or Verify is called.
//
// The file of an archived table is in an object store: then Verify, and whatever else verifies
// bytes, fetches them. Bytes are valid while a PinnedBytes of the file is held, so readers call
// InPlace before Verify. Besides the errors below, each function then returns those of
// ArchivedBytes::Need.
class StoredFile {
 public:
  // Maps the file; for a compressed one, also checks where its blocks are. `checksums` is the
  // checksum file of the directory, or nullptr; with it, Open verifies the first block. `may_grow`
  // is as for VerifiedBlocks. Errors name the path. If the file is not there, but archived, opens
  // it in the store: see ArchivedBytes::Open.
  static absl::StatusOr<std::unique_ptr<const StoredFile>> Open(
      const std::string& path, const ChecksumFile* checksums = nullptr, bool may_grow = false);

  virtual ~StoredFile() = default;
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }                       // Uncompressed.
  uint64_t disk_bytes() const { return stored_.bytes().size(); }  // Or in the object store.
  bool is_archived() const { return stored_.archived != nullptr; }

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
    if (!is_archived() && stored_.blocks->IsInVerifiedBlock(begin, end)) return absl::OkStatus();
    return VerifyOnDisk(begin, end);
  }
  // Says that the caller, who holds InPlace(), will call Verify for bytes [begin, end). Then an
  // archived file is fetched in larger requests, and several at a time.
  void WillRead(uint64_t begin, uint64_t end) const {
    if (is_archived() && !is_compressed_) stored_.archived->WillRead(begin, end);
  }
  // Does what Verify does for bytes on the disk, whose positions are below disk_bytes(). Its errors
  // do not name the rows of a compressed file.
  absl::Status VerifyOnDisk(uint64_t begin, uint64_t end) const {
    return VerifyOnDisk(begin, end, 0, 0);
  }
  // Passes all bytes to `visitor` from front to back, in pieces of equal size except the last.
  // Stops at the first error of the visitor, and returns it. Caches nothing, so use it for files
  // that are read once. Memory: one block of a compressed file.
  using Visitor = absl::FunctionRef<absl::Status(uint64_t offset, std::span<const std::byte>)>;
  virtual absl::Status Visit(Visitor visitor) const = 0;
  bool is_compressed() const { return is_compressed_; }
  bool has_checksums() const { return stored_.blocks != nullptr; }
  // True if Verify has nothing to compare any more: all blocks were verified, or there are no
  // checksums. Never true for an archived file, whose blocks may be evicted.
  bool is_verified() const {
    return stored_.blocks == nullptr || (stored_.blocks->complete() && !is_archived());
  }

  // Where rows of equal width are in bytes(), so that errors can name rows. It must be set before
  // other threads see the file.
  struct Rows {
    uint64_t offset = 0;
    size_t width = 0;  // 0: unknown.
    uint64_t count = 0;
  };
  void SetRows(const Rows& rows) const { rows_ = rows; }

 protected:
  StoredFile(std::string path, uint64_t bytes, StoredBytes stored, bool is_compressed)
      : path_(std::move(path)),
        bytes_(bytes),
        stored_(std::move(stored)),
        is_compressed_(is_compressed) {}

  // The bytes as they are on the disk, or in the object store.
  std::span<const std::byte> on_disk() const { return stored_.bytes(); }
  // Keeps the verified bytes of on_disk() valid until the result is destroyed; nullptr if they are
  // always valid.
  std::shared_ptr<const void> Pin() const {
    return is_archived() ? stored_.archived->Pin() : nullptr;
  }

  // Does the same, but if [image_begin, image_end) is not empty, an error names the rows in these
  // bytes of bytes() instead of those in the block.
  absl::Status VerifyOnDisk(uint64_t begin, uint64_t end, uint64_t image_begin,
                            uint64_t image_end) const;

 private:
  std::string RowsOf(uint64_t begin, uint64_t end) const;

  const std::string path_;
  const uint64_t bytes_;
  const StoredBytes stored_;
  const bool is_compressed_;
  mutable Rows rows_;
};

}  // namespace tickstack::disk
