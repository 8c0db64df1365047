#include "cli/tables_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/directory.h"
#include "base/printable.h"
#include "base/status.h"
#include "cli/query_words.h"
#include "disk/database.h"
#include "query/language/schema_names.h"
#include "query/schema_script.h"
#include "table/schema.h"

namespace tickstack::cli {
namespace {

struct FoundTables {
  std::vector<Schema> tables;
  std::vector<std::string> notes;
};

absl::StatusOr<FoundTables> ReadTablesOfScript(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const std::string script, ReadScript(path));
  TS_ASSIGN_OR_RETURN(query::SchemaScript read, query::ReadSchemaScript(script, Printable(path)));
  return FoundTables{std::move(read.tables), std::move(read.notes)};
}

// Returns an error unless the newest partition that has the table has a readable file for each
// column: the type of another column would be a guess.
absl::Status CheckColumns(const disk::Database& database, const disk::PartitionedTable& table) {
  for (size_t i = database.partitions().size(); i-- > 0;) {
    TS_ASSIGN_OR_RETURN(const disk::SplayedTable* const part, table.In(i));
    if (part == nullptr) continue;
    for (size_t column = 0; column < part->columns(); ++column) {
      TS_RETURN_IF_ERROR(part->Column(column).status());
    }
    break;
  }
  return absl::OkStatus();
}

// The end of a day moves `sym` before the other columns. Feeds of kdb+tick, whose tables begin with
// `time` and `sym`, still send `time` first.
void PutTimeFirst(Schema& schema) {
  if (schema.Find("sym") == 0 && schema.Find("time") == 1) {
    std::swap(schema.columns[0], schema.columns[1]);
  }
}

absl::StatusOr<FoundTables> ReadTablesOfDatabase(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::Database> database,
                      disk::Database::Open(path));
  FoundTables found;
  if (!database->problems().empty()) {
    return DataLoss("{}: {}", Printable(path), database->problems().front());
  }
  for (const auto& table : database->partitioned_tables()) {
    TS_RETURN_IF_ERROR(CheckColumns(*database, *table));
    TS_RETURN_IF_ERROR(query::CheckSchemaNames(table->schema()));
    found.tables.push_back(table->schema());
    PutTimeFirst(found.tables.back());
  }
  if (found.tables.empty()) {
    return NotFound(
        "{}: found no partition with a table, expected one, such as {}/2024.01.29/trade",
        Printable(path), Printable(path));
  }
  found.notes.push_back(fmt::format(
      "from {}; a partition has sym first: compare the order of columns with that of the feed",
      Printable(database->partitions().back().directory)));
  found.notes.push_back("a partition does not say which columns are a key");
  for (const auto& table : database->splayed_tables()) {
    found.notes.push_back(
        fmt::format("table {} is left out: it is not partitioned", Printable(table.name)));
  }
  return found;
}

absl::StatusOr<FoundTables> ReadTables(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(path));
  return is_directory ? ReadTablesOfDatabase(path) : ReadTablesOfScript(path);
}

}  // namespace

int RunTables(const TablesOptions& options) {
  const absl::StatusOr<FoundTables> found = ReadTables(options.source);
  if (!found.ok()) {
    std::fprintf(stderr, "%s\n", std::string(Message(found.status())).c_str());
    return EXIT_FAILURE;
  }
  std::string text = "[tables]\n";
  for (const std::string& note : found->notes) text += fmt::format("# {}\n", note);
  for (const Schema& schema : found->tables) {
    text += fmt::format("{} = \"{}\"\n", schema.table, FormatSchema(schema));
  }
  std::fputs(text.c_str(), stdout);
  return EXIT_SUCCESS;
}

}  // namespace tickstack::cli
