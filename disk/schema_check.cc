#include "disk/schema_check.h"

#include <memory>

#include "base/directory.h"
#include "base/status.h"
#include "disk/database.h"
#include "disk/partition_name.h"
#include "disk/segment_list.h"

namespace tickstack::disk {
namespace {

char LetterFor(Type type) { return type == Type::kList ? '*' : LetterOf(type); }

// Returns the types that a part of a table has, for the columns of a schema. A column that cannot
// be read keeps the schema's type.
Schema WithTypesOf(const SplayedTable& part, const Schema& schema) {
  Schema found = schema;
  for (ColumnSpec& column : found.columns) {
    const int at = part.Find(column.name);
    if (at < 0) continue;
    const absl::StatusOr<std::shared_ptr<const ColumnFile>> file =
        part.Column(static_cast<size_t>(at));
    if (file.ok()) column.type = (*file)->type();
  }
  return found;
}

// Describes how a schema differs from what a partition has; empty if it does not.
std::string Difference(const std::string& root, const std::string& directory, const Schema& schema,
                       const Schema& stored) {
  std::string columns;
  std::string change;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSpec& column = schema.columns[i];
    const Type found = stored.columns[i].type;
    if (found == column.type || column.name == "date") continue;
    columns += fmt::format("{}{} has type {}, expected {} as in the partition",
                           columns.empty() ? "" : "; ", column.name, LetterFor(column.type),
                           LetterFor(found));
    if (change.empty()) {
      change = fmt::format("tickstack hdb migrate {} --table {} retype {} {}", root, schema.table,
                           column.name, LetterFor(column.type));
    }
  }
  if (columns.empty()) return columns;
  return fmt::format(
      "{}: {}: queries over several days would fail. Give [tables] the types of the database ({} = "
      "\"{}\"), or change the database (`{}`), or use another one",
      directory, columns, schema.table, FormatSchema(stored), change);
}

}  // namespace

absl::StatusOr<std::vector<SchemaConflict>> FindSchemaConflicts(const std::string& database,
                                                                std::span<const Schema> schemas,
                                                                std::optional<int32_t> date) {
  std::vector<SchemaConflict> conflicts;
  TS_ASSIGN_OR_RETURN(const bool is_there, IsDirectory(database));
  if (!is_there) return conflicts;
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const Database> opened,
                      Database::Open(database, {.allow_missing_segments = true}));
  if (opened->partition_kind() != PartitionKind::kDate) return conflicts;
  const std::span<const Partition> partitions = opened->partitions();
  for (const Schema& schema : schemas) {
    for (size_t i = partitions.size(); i-- > 0;) {
      if (date && partitions[i].value == *date) continue;
      const std::string directory = fmt::format("{}/{}", partitions[i].directory, schema.table);
      const absl::StatusOr<std::shared_ptr<const SplayedTable>> part =
          SplayedTable::Open(directory, opened->domains());
      // A table without columns that can be read tells nothing, such as one that was left out.
      if (!part.ok() || !(*part)->Rows().ok()) continue;
      std::string why = Difference(database, directory, schema, WithTypesOf(**part, schema));
      if (!why.empty()) conflicts.push_back({schema.table, std::move(why)});
      break;
    }
  }
  return conflicts;
}

std::string NewestPartitionBut(const std::string& database, int32_t date) {
  std::vector<std::string> segments = {database};
  const absl::StatusOr<std::optional<std::vector<SegmentLine>>> lines = ReadSegmentList(database);
  if (lines.ok() && *lines) {
    for (const SegmentLine& line : **lines) segments.push_back(line.path);
  }
  int64_t newest = INT64_MIN;
  std::string directory;
  for (const std::string& segment : segments) {
    const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(segment);
    if (!entries.ok()) continue;
    for (const DirectoryEntry& entry : *entries) {
      const std::optional<PartitionName> name = ParsePartitionName(entry.name);
      if (!name || name->kind != PartitionKind::kDate || entry.is_file) continue;
      if (name->value == date || name->value <= newest) continue;
      newest = name->value;
      directory = fmt::format("{}/{}", segment, entry.name);
    }
  }
  return directory;
}

}  // namespace tickstack::disk
