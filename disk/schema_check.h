#pragma once

// Compares the schemas of a process with an existing database. A query over several days needs the
// same type for a column in each of them, so a day with other types than the days before would make
// every such query fail.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "table/schema.h"

namespace tickstack::disk {

struct SchemaConflict {
  std::string table;
  // Names the columns, both types, and what can be done.
  std::string why;
};

// Returns the tables of which a column has another type in the newest partition that has the table.
// Leaves out the partition of `date`, if it is given. Columns that only one of them has are no
// conflict, and columns whose files cannot be read are not compared. A database that does not
// exist, or that is not partitioned by date, has no conflicts. Errors: as for Database::Open. Cost:
// as for that.
absl::StatusOr<std::vector<SchemaConflict>> FindSchemaConflicts(
    const std::string& database, std::span<const Schema> schemas,
    std::optional<int32_t> date = std::nullopt);

// Returns the directory of the newest partition apart from that of `date`; "" if there is none.
std::string NewestPartitionBut(const std::string& database, int32_t date);

}  // namespace tickstack::disk
