#pragma once

// Files with secrets: read only if others cannot read or change them, and written as a whole.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::security {

// What must not be set in a file's mode.
inline constexpr mode_t kOwnerOnly = 0077;           // Expected: 0600.
inline constexpr mode_t kOwnerAndGroupReads = 0027;  // Expected: 0600 or 0640.

// What tells one version of a file from another.
struct FileStamp {
  int64_t modified_ns = 0;
  int64_t bytes = 0;
  uint64_t inode = 0;
  bool operator==(const FileStamp&) const = default;
};

// kNotFound if there is no such file.
absl::StatusOr<FileStamp> StampOf(const std::string& path);

// Returns the text of a regular file of at most 16 MiB. kFailedPrecondition, with the mode and what
// to do, if its mode has a bit of `forbidden`, or its owner is neither this user nor root.
absl::StatusOr<std::string> ReadPrivateFile(const std::string& path, mode_t forbidden);

// Replaces a file, or creates it with mode 0600. A replaced file keeps its owner, group and mode.
// The text is on the disk when this returns; a crash leaves the old file or the new one.
absl::Status WritePrivateFile(const std::string& path, std::string_view text);

// Creates a file with mode 0600, whole or not at all. kAlreadyExists if there is one, which it
// leaves as it is.
absl::Status CreatePrivateFile(const std::string& path, std::string_view text);

}  // namespace tickstack::security
