#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack {

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;  // Or a link to one.
  bool is_file = false;  // A regular file, or a link to one. Neither: a pipe, a dangling link...
};

// What is in a directory, without `.` and `..`, by name in ascending order of bytes. kNotFound if
// there is none. Cost: one stat for each entry whose kind the file system does not tell.
absl::StatusOr<std::vector<DirectoryEntry>> ListDirectory(const std::string& path);

bool IsDirectory(const std::string& path);

// Why an entry is neither a file nor a directory: a link whose target is not there (an unmounted
// disk, say) or that leads to itself, a device or pipe. OK if it is one of them after all.
absl::Status CheckReachable(const std::string& path);

}  // namespace tickstack
