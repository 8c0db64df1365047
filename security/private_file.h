#pragma once

// Files with secrets. They are read only if their mode and owner keep other users away, and they
// are always replaced in one step.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::security {

// Bits that a file's mode must not have.
inline constexpr mode_t kOwnerOnly = 0077;           // For files with mode 0600.
inline constexpr mode_t kOwnerAndGroupReads = 0027;  // For files with mode 0600 or 0640.

// Identifies a version of a file: two versions have different stamps.
struct FileStamp {
  int64_t modified_ns = 0;
  int64_t bytes = 0;
  uint64_t inode = 0;
  bool operator==(const FileStamp&) const = default;
};

// Returns the stamp of a file. kNotFound if there is no such file.
absl::StatusOr<FileStamp> StampOf(const std::string& path);

// Returns the text of a file. Errors: kFailedPrecondition, with what to do, if the mode has a bit
// of `forbidden`, the owner is neither this user nor root, or it is not a regular file;
// kResourceExhausted if it has more than 16 MiB.
absl::StatusOr<std::string> ReadPrivateFile(const std::string& path, mode_t forbidden);

// Replaces a file, or creates it with mode 0600. A replaced file keeps its owner, group and mode.
// The new text is durable when this returns. A crash before that leaves the old file or the new
// one.
absl::Status WritePrivateFile(const std::string& path, std::string_view text);

// Creates a file with mode 0600. It never exists with only a part of the text. kAlreadyExists if
// there is a file, which is not changed.
absl::Status CreatePrivateFile(const std::string& path, std::string_view text);

}  // namespace tickstack::security
