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
  std::vector<std::string> files;  // That were replaced: the column and its companions.
  uint64_t bytes = 0;
};

// Writes the whole table again beside its partition, and replaces the files of `column` by renames,
// if they have the checksums that the partition has for them: then they are the files that were
// there. `table` has the rows of the log. A column that was compressed is compressed again in the
// same way.
//
// kNotFound if there is no such partition, table or column. kFailedPrecondition if the partition
// has no checksums, or the rows give other files; nothing is changed then. Cost and errors: those
// of WritePartition for the table. A process that dies leaves a folder `repair.DATE$`, which the
// next repair removes, or some of the files replaced.
absl::StatusOr<RepairedColumn> RepairColumn(const PartitionWriterOptions& options, int32_t date,
                                            const Snapshot& table, std::string_view column);

}  // namespace tickstack::disk
