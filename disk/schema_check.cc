#include "disk/schema_check.h"

#include <algorithm>
#include <memory>

#include "base/directory.h"
#include "base/status.h"
#include "disk/database.h"
#include "disk/partition_name.h"
#include "disk/partition_writer.h"
#include "disk/segment_list.h"

namespace tickstack::disk {
namespace {

constexpr std::string_view kPartitionColumn = "date";

char LetterFor(Type type) { return type == Type::kList ? '*' : LetterOf(type); }

// Returns the columns that a part of a table has: those of a schema with the part's types, then the
// others. A column that cannot be read keeps the schema's type, and is left out if the schema lacks
// it. `date`, which no partition stores, is as in the schema.
Schema StoredSchema(const SplayedTable& part, const Schema& schema) {
  Schema found = schema;
  std::erase_if(found.columns, [&part](const ColumnSpec& column) {
    return column.name != kPartitionColumn && part.Find(column.name) < 0;
  });
  found.key_columns = static_cast<size_t>(
      std::count_if(schema.columns.begin(),
                    schema.columns.begin() + static_cast<std::ptrdiff_t>(schema.key_columns),
                    [&found](const ColumnSpec& column) { return found.Find(column.name) >= 0; }));
  for (size_t i = 0; i < part.columns(); ++i) {
    const std::string& name = part.column_names()[i];
    const absl::StatusOr<std::shared_ptr<const ColumnFile>> file = part.Column(i);
    if (!file.ok() || name == kPartitionColumn) continue;
    if (const int at = found.Find(name); at >= 0) {
      found.columns[static_cast<size_t>(at)].type = (*file)->type();
    } else {
      found.columns.push_back({name, (*file)->type()});
    }
  }
  return found;
}

// A way to bring a schema and a partition together.
struct Difference {
  std::string what;    // Columns, found and expected.
  std::string effect;  // What queries would do.
  std::string change;  // How to change the database: words of `hdb migrate`.
};

void Add(std::string what, std::string_view effect, std::string change, Difference& difference) {
  difference.what += (difference.what.empty() ? "" : "; ") + std::move(what);
  if (difference.effect.find(effect) == std::string::npos) {
    difference.effect += fmt::format("{}{}", difference.effect.empty() ? "" : ", and ", effect);
  }
  if (difference.change.empty()) difference.change = std::move(change);
}

// Compares a schema with what a partition has. `is_newer` is true if rows of the schema would be in
// a newer partition than that one.
Difference Compare(const Schema& schema, const Schema& stored, bool is_newer) {
  Difference difference;
  for (const ColumnSpec& column : schema.columns) {
    if (column.name == kPartitionColumn) continue;
    const int at = stored.Find(column.name);
    if (at < 0) {
      if (is_newer) continue;  // Older partitions answer nulls.
      Add(fmt::format("{} is not in the newer partition", column.name),
          "queries would not find the column",
          fmt::format("add {} {}", column.name, LetterFor(column.type)), difference);
      continue;
    }
    const Type found = stored.columns[static_cast<size_t>(at)].type;
    if (found == column.type) continue;
    Add(fmt::format("{} has type {}, expected {} as in the partition", column.name,
                    LetterFor(column.type), LetterFor(found)),
        "queries over several days would fail",
        fmt::format("retype {} {}", column.name, LetterFor(column.type)), difference);
  }
  for (const ColumnSpec& column : stored.columns) {
    if (!is_newer || schema.Find(column.name) >= 0) continue;
    Add(fmt::format("{} is missing, the partition has it with type {}", column.name,
                    LetterFor(column.type)),
        "queries would no longer find it in any day", fmt::format("drop {}", column.name),
        difference);
  }
  return difference;
}

// Describes the differences, and how to go on; empty if there are none.
std::string TextOf(const Difference& difference, const std::string& root,
                   const std::string& directory, const Schema& stored) {
  if (difference.what.empty()) return {};
  return fmt::format(
      "{}: {}: {}. Give [tables] the columns of the database ({} = \"{}\"), or change the database "
      "(`tickstack hdb migrate {} --table {} {}`), or use another one",
      directory, difference.what, difference.effect, stored.table, FormatSchema(stored), root,
      stored.table, difference.change);
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
  if (opened->partition_kind() != PartitionKind::kDate) {
    TS_RETURN_IF_ERROR(CheckHoldsDays(database));
    return conflicts;
  }
  const std::span<const Partition> partitions = opened->partitions();
  for (const Schema& schema : schemas) {
    for (size_t i = partitions.size(); i-- > 0;) {
      if (date && partitions[i].value == *date) continue;
      const std::string directory = fmt::format("{}/{}", partitions[i].directory, schema.table);
      const absl::StatusOr<std::shared_ptr<const SplayedTable>> part =
          SplayedTable::Open(directory, opened->domains());
      // A table without columns that can be read tells nothing, such as one that was left out.
      if (!part.ok() || !(*part)->Rows().ok()) continue;
      const Schema stored = StoredSchema(**part, schema);
      const bool is_newer = !date || *date > partitions[i].value;
      std::string why = TextOf(Compare(schema, stored, is_newer), database, directory, stored);
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
