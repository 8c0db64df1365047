#pragma once

// Checksums of the files of a stored table, in a file beside them:
//
//   trade/.checksums    header | an entry per file | CRC32C of each block of 64 KiB, file by file
//
// kdb+ reads the files that `.d` names, so it ignores this one. docs/formats.md has the bytes. The
// domain `sym` has such a file, too, with one entry: `sym.checksums$` in the database's root.
//
// A block of 64 KiB is what the kernel maps in one page fault, and its checksum takes about 4 us.
// So a query that reads a few rows spends little more than the fault, and a file of 1 GiB has
// 64 KiB of checksums.

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

inline constexpr std::string_view kChecksumName = ".checksums";  // In the directory of a table.
inline constexpr std::string_view kDomainChecksumSuffix = ".checksums$";
inline constexpr uint32_t kChecksumVersion = 1;  // Part of the tag that begins a file: one digit.
inline constexpr uint64_t kChecksumBlockBytes = uint64_t{64} << 10;

// Checksums of one file as it is on the disk.
struct FileChecksums {
  std::string name;    // Without a directory.
  uint64_t bytes = 0;  // That the checksums cover: the size of the file.
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
  uint32_t crc_ = 0;              // The current block's, so far.
  uint64_t bytes_ = 0;
};

// The checksums of the files that are being written into a directory. Threads: any.
class ChecksumCollector {
 public:
  // Adds those of a file that has been written completely.
  void Add(const std::string& path, BlockChecksums checksums);
  // Returns them by name, and forgets them.
  std::vector<FileChecksums> Take();

 private:
  std::mutex mutex_;
  std::vector<FileChecksums> files_;  // Guarded by mutex_.
};

// Returns the time of the last change of a file in ns since 1970. kNotFound if there is none.
absl::StatusOr<int64_t> ModifiedNs(const std::string& path);

// Sets that time, for a copy of a file.
absl::Status SetModifiedNs(const std::string& path, int64_t modified_ns);

// Returns the content of a checksum file.
ByteBuffer EncodeChecksums(std::span<const FileChecksums> files);

// The entries of a checksum file; the checksums themselves are read with the file that they are of.
// Immutable. Threads: any.
class ChecksumFile {
 public:
  struct Entry {
    std::string name;
    uint64_t bytes = 0;
    uint64_t offset = 0;  // Where its checksums are in the checksum file.
    uint32_t crc = 0;     // CRC32C of the checksums.

    uint64_t blocks() const { return (bytes + kChecksumBlockBytes - 1) / kChecksumBlockBytes; }
  };

  // nullptr if there is none. kDataLoss, with path and byte, if the header or the entries are
  // damaged. Cost: two system calls if there is none; otherwise a read of the entries.
  static absl::StatusOr<std::shared_ptr<const ChecksumFile>> Open(std::string path);

  const std::string& path() const { return path_; }
  // The time when the checksums were written, in ns since 1970. A file that was changed later was
  // changed by a program; one that was not, and does not match, by the disk.
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
