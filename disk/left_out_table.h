#pragma once

// A table that a day's writer could not write, although it wrote the others of the day. Its folder
// in the partition has two files:
//
//   .d             the columns, as in other partitions
//   .not-written   why the table is missing, as a text for people
//
// No column is there, so every query of the table for that day is an error, in kdb+ too, and the
// day does not pass for one without rows. AddTables writes the table once its rows can be written.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/partition_writer.h"
#include "disk/storage.h"

namespace tickstack::disk {

inline constexpr std::string_view kLeftOutName = ".not-written";

// Returns why a table is left out of a partition, by the table's folder there; nullopt if it is not
// left out. Errors: those of reading.
absl::StatusOr<std::optional<std::string>> WhyLeftOut(const std::string& folder);

// Makes and syncs the table's folder in `partition`, a folder that is not visible yet. Does nothing
// if the schema has no columns, and no partition of the database has the table, or if the names are
// none for files: then the database has nothing that queries could name.
absl::Status WriteLeftOut(const std::string& database, const std::string& partition,
                          const LeftOutTable& table, const Storage& storage);

// Writes tables into the partition of `date`, which must lack them, or have left them out. Each
// becomes visible in one step. A table that the partition has is kFailedPrecondition, before
// anything is changed. kNotFound if there is no such partition. Other errors: as for
// WritePartition.
absl::StatusOr<WrittenPartition> AddTables(const PartitionWriterOptions& options, int32_t date,
                                           std::span<const Snapshot> tables);

}  // namespace tickstack::disk
