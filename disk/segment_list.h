#pragma once

// `par.txt`: the directories that hold a database's partitions, one per line.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::disk {

struct SegmentLine {
  std::string path;  // Absolute, or relative to the database.
  // kNotFound if the path leads to no directory. kInvalidArgument if an earlier line leads to the
  // same directory, so that its rows would count twice.
  absl::Status status;
};

// Returns the lines of a database's par.txt in order, without line ends, trailing slashes and
// blanks, and without empty lines; nullopt if there is no par.txt. kInvalidArgument if par.txt is
// not a regular file; kResourceExhausted if it has more than 1 MiB. Cost: a system call per line.
absl::StatusOr<std::optional<std::vector<SegmentLine>>> ReadSegmentList(
    const std::string& database);

}  // namespace tickstack::disk
