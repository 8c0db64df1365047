#pragma once

// Compares the schemas of a process with an existing database. A query over several days needs the
// same type for a column in each of them, so a day with other types than the days before would make
// every such query fail. The newest partition defines the columns of a table, so a day that lacks
// one would take it away from the queries of all days. A column that only older partitions lack is
// null there.

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
  // Names the columns, what is found and expected, and what can be done.
  std::string why;
};

// Returns the tables that do not fit the newest partition that has the table:
//
//   a column has another type    queries over both days would fail
//   the schema lacks a column    no query would find it any longer
//
// With `date`, leaves the partition of that date out. If the newest of the others is of a later
// date, the schema may lack a column, but may not have one that the partition lacks. The order of
// columns is no conflict, nor are columns whose files cannot be read. A database that does not
// exist has no conflicts. Errors: as for CheckHoldsDays and Database::Open. Cost: as for these.
absl::StatusOr<std::vector<SchemaConflict>> FindSchemaConflicts(
    const std::string& database, std::span<const Schema> schemas,
    std::optional<int32_t> date = std::nullopt);

// Returns the directory of the newest partition apart from that of `date`; "" if there is none.
std::string NewestPartitionBut(const std::string& database, int32_t date);

}  // namespace tickstack::disk
