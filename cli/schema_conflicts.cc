#include "cli/schema_conflicts.h"

#include "base/status.h"
#include "disk/schema_check.h"

namespace tickstack::cli {

std::vector<std::string> SchemaConflictsOf(const StackConfig& config,
                                           const rdb::RdbMainOptions& rdb) {
  if (!rdb.end_of_day || !rdb.knows_tables || !rdb.replay.empty()) return {};
  const std::string& database = rdb.end_of_day->database;
  const absl::StatusOr<std::vector<disk::SchemaConflict>> found =
      disk::FindSchemaConflicts(database.empty() ? config.data + "/hdb" : database, config.schemas);
  if (!found.ok()) return {std::string(Message(found.status()))};
  std::vector<std::string> conflicts;
  for (const disk::SchemaConflict& each : *found) {
    conflicts.push_back(fmt::format("table {}: {}", each.table, each.why));
  }
  return conflicts;
}

}  // namespace tickstack::cli
