#pragma once

// `par.txt`: the directories that hold a database's partitions, one a line.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack {

struct SegmentLine {
  std::string path;  // Absolute, or in the database.
  // kNotFound: it leads to no directory. kInvalidArgument: to the one of a line before it, so that
  // its rows would count twice.
  absl::Status status;
};

// The lines of a database's par.txt in their order, without their ends, trailing slashes and
// blanks, empty ones left out; nullopt if it has none. kInvalidArgument if that is no file;
// kResourceExhausted beyond 1 MiB. Cost: a system call a line.
absl::StatusOr<std::optional<std::vector<SegmentLine>>> ReadSegmentList(
    const std::string& database);

}  // namespace tickstack
