#pragma once

// Checksums of the files of a stored table, in a file beside them:
//
//   trade/.checksums    header | an entry per file | CRC32C of each block of 64 KiB, file by file
//
// kdb+ reads the files that `.d` names, so it ignores this one. docs/formats.md describes the
// format. The domain `sym` in the database's root has a checksum file with one entry,
// `sym.checksums$`.
//
// The kernel maps up to 64 KiB in one page fault, so that is the size of a block. Its checksum
// takes about 4 us. So for a query that reads a few rows, checksums add little to the cost of the
// page faults. A file of 1 GiB has 64 KiB of checksums.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"

namespace tickstack::disk {

// Name of the file in a table's directory.
inline constexpr std::string_view kChecksumName = ".checksums";
inline constexpr std::string_view kDomainChecksumSuffix = ".checksums$";
// A digit of the tag at the start of a checksum file.
inline constexpr uint32_t kChecksumVersion = 1;
inline constexpr uint64_t kChecksumBlockBytes = uint64_t{64} << 10;

// Checksums of one file as it is on the disk.
struct FileChecksums {
  std::string name;    // Without a directory.
  uint64_t bytes = 0;  // Number of bytes that the checksums cover: the file's size.
  std::vector<uint32_t> blocks;
};

// Computes the checksums of a file that is written from front to back. Threads: one owner.
class BlockChecksums {
 public:
  void Append(std::span<const std::byte> bytes);
  uint64_t bytes() const { return bytes_; }
  // Returns the checksums; the last block may be shorter than the others.
  std::vector<uint32_t> Finish() &&;

 private:
  std::vector<uint32_t> blocks_;  // Checksums of whole blocks.
  uint32_t crc_ = 0;              // Checksum of the current block so far.
  uint64_t bytes_ = 0;
};

// Collects the checksums of files while they are written into a directory. Threads: any.
class ChecksumCollector {
 public:
  // Adds the checksums of a file that has been written completely.
  void Add(const std::string& path, BlockChecksums checksums);
  // Returns all checksums, sorted by the files' names, and removes them from the collector.
  std::vector<FileChecksums> Take();

 private:
  std::mutex mutex_;
  std::vector<FileChecksums> files_;  // Guarded by mutex_.
};

// Returns the time of a file's last change, in ns since 1970. kNotFound if there is no such file.
absl::StatusOr<int64_t> ModifiedNs(const std::string& path);

// Sets the time of a file's last change, in ns since 1970; used for copies.
absl::Status SetModifiedNs(const std::string& path, int64_t modified_ns);

// Returns the content of a checksum file.
ByteBuffer EncodeChecksums(std::span<const FileChecksums> files);

// The entries of a checksum file. The checksums of a file are not read before Load is called for
// its entry. Immutable. Threads: any.
class ChecksumFile {
 public:
  struct Entry {
    std::string name;
    uint64_t bytes = 0;
    uint64_t offset = 0;  // Where its checksums are in the checksum file.
    uint32_t crc = 0;     // CRC32C of this entry's checksums.

    uint64_t blocks() const { return (bytes + kChecksumBlockBytes - 1) / kChecksumBlockBytes; }
  };

  // Returns nullptr if there is no such file. kDataLoss, with path and byte, if the header or the
  // entries are damaged. Cost: two system calls if there is no file; otherwise a read of the
  // entries.
  static absl::StatusOr<std::shared_ptr<const ChecksumFile>> Open(std::string path);

  const std::string& path() const { return path_; }
  // Returns the time when the checksums were written, in ns since 1970. If a file does not match
  // its checksums, this tells the cause: a program if the file's modification time is later,
  // otherwise the disk.
  int64_t modified_ns() const { return modified_ns_; }
  std::span<const Entry> entries() const { return entries_; }
  const Entry* Find(std::string_view name) const;  // nullptr if there is none.
  // Reads the checksums of an entry. kDataLoss, with path and byte, if they are damaged.
  absl::StatusOr<std::vector<uint32_t>> Load(const Entry& entry) const;

 private:
  explicit ChecksumFile(std::string path) : path_(std::move(path)) {}
  absl::Status Damaged(uint64_t byte, std::string_view what) const;

  const std::string path_;
  int64_t modified_ns_ = 0;
  std::vector<Entry> entries_;
};

// Returns the command that writes the checksums of a file's directory anew, for error messages.
std::string ChecksumCommand(std::string_view path);

}  // namespace tickstack::disk
