#pragma once

// Copies bytes from one file to another, and computes their checksum on the way.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace tickstack::backup {

// Writes bytes [begin, end) of `from` to the same offset of `to`. `crc` is the CRC32C of bytes
// [0, begin). Returns the CRC32C of bytes [0, end), or kDataLoss if `from` is shorter. Does not
// sync. Memory: 4 MiB.
absl::StatusOr<uint32_t> CopyBytes(const File& from, uint64_t begin, uint64_t end, uint32_t crc,
                                   File& to);

// Returns the CRC32C of the first `bytes` bytes of a file. kDataLoss if it is shorter.
absl::StatusOr<uint32_t> ChecksumOf(const File& file, uint64_t bytes);

struct FileFacts {
  uint64_t bytes = 0;
  int64_t changed_ns = 0;  // Modification time, ns since 1970.
  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};
// Returns the size and modification time of a file. kNotFound if there is no such file.
absl::StatusOr<FileFacts> FactsOf(const std::string& path);
// Sets the modification time of a file.
absl::Status SetChangedNs(const std::string& path, int64_t changed_ns);

}  // namespace tickstack::backup
