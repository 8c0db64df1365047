#pragma once

// Rebuilds a damaged column of a partition from the rows of its day, which the caller has read from
// the log again.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "disk/partition_writer.h"
#include "table/table.h"

namespace tickstack::disk {

struct RepairedColumn {
  std::vector<std::string> files;  // The replaced files: the column and its companions.
  uint64_t bytes = 0;
};

// Writes the whole table again beside its partition. If the new files of `column` have the
// checksums that the partition has for them, they are the original ones, and replace the damaged
// files by renames. `table` has the rows of the log. A column that was compressed is compressed
// again in the same way.
//
// kNotFound if there is no such partition, table or column. kFailedPrecondition, without any
// change, if the partition has no checksums, or if the new files do not match them. Cost and other
// errors: as for WritePartition of this table. A process that is killed may leave a folder
// `repair.DATE$`, which the next repair removes, or may have replaced only some of the files.
absl::StatusOr<RepairedColumn> RepairColumn(const PartitionWriterOptions& options, int32_t date,
                                            const Snapshot& table, std::string_view column);

}  // namespace tickstack::disk
