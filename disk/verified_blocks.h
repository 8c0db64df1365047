#pragma once

// Compares each block of a mapped file with its checksum when the block is first needed.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/checksum_file.h"

namespace tickstack::disk {

// A block whose bytes do not match their checksum.
struct DamagedBlock {
  uint64_t number = 0;
  uint64_t begin = 0;  // First byte of the block in the file.
  uint64_t end = 0;
  uint32_t found = 0;
  uint32_t expected = 0;
};

// Threads: any, concurrently. Each block has a bit that says that it was verified. Two threads that
// need a block of a mapped file at the same time may both verify it. Damage is not remembered, so
// each reader of the block gets the error.
//
// A thread that sees a block's bit also sees the block's bytes: the bits are set with release and
// read with acquire. Mapped files would not need that, since no thread of this process writes them,
// but the bytes of an archived file are written by threads that fetch them (archived_bytes.h).
class VerifiedBlocks {
 public:
  // Loads the checksums of the file at `path` from the checksum file of its directory; `bytes` is
  // the file's size. nullptr if `checksums` is nullptr. kDataLoss, with what to do, if the
  // checksums are damaged, belong to a file of another size, or do not include this file. With
  // `may_grow`, for `sym`, the file may have more bytes than the checksums cover; the additional
  // bytes are not verified.
  static absl::StatusOr<std::unique_ptr<const VerifiedBlocks>> Load(const ChecksumFile* checksums,
                                                                    const std::string& path,
                                                                    uint64_t bytes,
                                                                    bool may_grow = false);

  // Returns the first damaged block of bytes [begin, end), which must be within the file; nullopt
  // if there is none. `file` has all bytes of the file. Adds the bytes of blocks that this call
  // verified to `verified_bytes`, unless that is nullptr. Cost: about 4 us for each block that was
  // not verified before, 1 ns for any other block, and none once all are verified.
  std::optional<DamagedBlock> FindDamage(std::span<const std::byte> file, uint64_t begin,
                                         uint64_t end, uint64_t* verified_bytes = nullptr) const {
    if (complete()) return std::nullopt;
    return FindDamageInBlocks(file, begin, end, verified_bytes);
  }
  // True if bytes [begin, end) are within one block, which was verified. False says nothing. Cost:
  // one load.
  bool IsInVerifiedBlock(uint64_t begin, uint64_t end) const {
    const uint64_t block = begin / kChecksumBlockBytes;
    if (begin >= end || end > bytes_ || (end - 1) / kChecksumBlockBytes != block) return false;
    return IsVerified(block);
  }
  // True if this block was verified. Cost: one load.
  bool IsVerified(uint64_t block) const {
    return (verified_[block / 64].load(std::memory_order_acquire) >> block % 64 & 1) != 0;
  }
  bool complete() const { return left_.load(std::memory_order_acquire) == 0; }  // All are verified.
  uint64_t blocks() const { return blocks_.size(); }
  // Forgets that blocks were verified. No thread may call another function meanwhile.
  void Forget() const;
  // Number of bytes with checksums, which may be less than the file's size.
  uint64_t bytes() const { return bytes_; }
  // Returns kDataLoss for a damaged block. The message says whether a program has written the file
  // since its checksums were written, and contains `content`: a description of the block, such as
  // its rows, or an empty text.
  absl::Status ErrorOf(const DamagedBlock& block, const std::string& path,
                       const std::string& content) const;

 private:
  VerifiedBlocks(uint64_t bytes, int64_t written_ns, std::vector<uint32_t> blocks);
  std::optional<DamagedBlock> FindDamageInBlocks(std::span<const std::byte> file, uint64_t begin,
                                                 uint64_t end, uint64_t* verified_bytes) const;

  const uint64_t bytes_;
  const int64_t written_ns_;  // When the checksums were written (ChecksumFile::modified_ns).
  const std::vector<uint32_t> blocks_;
  mutable std::vector<std::atomic<uint64_t>> verified_;  // A bit for each block.
  mutable std::atomic<uint64_t> left_;                   // Blocks whose bit is not set.
};

}  // namespace tickstack::disk
