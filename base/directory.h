#pragma once

// Lists the contents of a directory, and explains entries that cannot be read.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack {

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;  // True also for a link to a directory.
  // A regular file, or a link to one. Pipes, dangling links and others are neither.
  bool is_file = false;
  uint64_t inode = 0;  // 0 for a link, whose target has another one.
};

// Returns the entries of a directory, without `.` and `..`, sorted by the bytes of their names.
// kNotFound if the directory does not exist. Cost: one stat for each entry whose kind the file
// system does not report.
absl::StatusOr<std::vector<DirectoryEntry>> ListDirectory(const std::string& path);

// Returns whether there is a directory, or a link to one, of that path. An error if the system
// cannot tell, as in FileExists of base/file.h.
absl::StatusOr<bool> IsDirectory(const std::string& path);

// Returns why an entry is neither a file nor a directory: a link with a missing target (such as an
// unmounted disk) or to itself, a device, or a pipe. OK if it is one of them after all.
absl::Status CheckReachable(const std::string& path);

}  // namespace tickstack
