#include "cli/hdb_migrate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <thread>

#include "base/file.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "cli/hdb_merge.h"
#include "disk/database.h"
#include "query/language/schema_names.h"
#include "table/schema.h"

namespace tickstack::cli {
namespace {

using Kind = disk::ColumnChange::Kind;

absl::StatusOr<disk::ColumnChange> ChangeOf(const HdbMigrateOptions& options) {
  disk::ColumnChange change;
  change.kind = options.kind;
  change.column = options.column;
  change.new_name = options.new_name;
  if (options.kind == Kind::kAdd) TS_RETURN_IF_ERROR(query::CheckColumnName(options.column));
  if (options.kind == Kind::kRename) TS_RETURN_IF_ERROR(query::CheckColumnName(options.new_name));
  if (options.kind == Kind::kRename || options.kind == Kind::kDrop) return change;
  const absl::StatusOr<Schema> schema = ParseSchema("t", "x " + options.type);
  if (!schema.ok() || schema->columns.size() != 1) {
    return InvalidArgument("type \"{}\": expected a letter such as f, j, s or p, or * for strings",
                           options.type);
  }
  change.type = schema->columns[0].type;
  if (options.kind == Kind::kAdd) {
    TS_ASSIGN_OR_RETURN(change.value, disk::ParseDefault(change.type, options.value));
  }
  return change;
}

absl::Status Migrate(const HdbMigrateOptions& options, const disk::ColumnChange& change) {
  {
    TS_ASSIGN_OR_RETURN(const auto database, disk::Database::Open(options.directory));
    if (!database->partitions().empty()) UseFileAccessOf(database->partitions().back().directory);
  }
  WorkerPool workers(std::max(1u, std::thread::hardware_concurrency()) - 1);
  disk::MigrationOptions how;
  how.database = options.directory;
  how.workers = &workers;
  how.dry_run = options.dry_run;
  TS_ASSIGN_OR_RETURN(const disk::Migration done, disk::MigrateTable(how, options.table, change));
  fmt::print("{}: {} partitions {}, {} had the change already, {} lack the table\n",
             change.text(options.table), done.changed,
             options.dry_run ? "would be changed" : "changed", done.had_it, done.without);
  if (options.dry_run || done.changed == 0) return absl::OkStatus();
  fmt::print("the versions before it are kept, such as {}\n", done.replaced.front());
  return ReloadHdb(options.hdb, /*is_link=*/false);
}

}  // namespace

void AddHdbMigrateOptions(CLI::App& command, HdbMigrateOptions& options) {
  command.add_option("directory", options.directory, "Database directory")->required();
  command.add_option("--table", options.table, "Name of the table")->required();
  command.add_option("--hdb", options.hdb, "HOST:PORT of an hdb that reloads afterwards");
  command.add_flag("--dry-run", options.dry_run, "Only count the partitions to change");
  command.require_subcommand(1);
  const auto add = [&](const std::string& name, Kind kind, const std::string& what) {
    CLI::App& sub = *command.add_subcommand(name, what);
    sub.fallthrough();
    sub.add_option("column", options.column, "Name of the column")->required();
    sub.preparse_callback([&options, kind](size_t) { options.kind = kind; });
    return &sub;
  };
  constexpr const char* kType = "Type letter, such as f; * for strings";
  CLI::App* const adds = add("add", Kind::kAdd, "Add a column at the end");
  adds->add_option("type", options.type, kType)->required();
  adds->add_option("--default", options.value, "Its value in all rows (default: null)");
  add("rename", Kind::kRename, "Rename a column")
      ->add_option("new-name", options.new_name, "Its new name")
      ->required();
  add("retype", Kind::kRetype, "Cast a column to another type, without loss")
      ->add_option("type", options.type, kType)
      ->required();
  add("drop", Kind::kDrop, "Remove a column");
}

int RunHdbMigrate(const HdbMigrateOptions& options) {
  constexpr int kWrongUsage = 2;
  const absl::StatusOr<disk::ColumnChange> change = ChangeOf(options);
  if (!change.ok()) {
    fmt::print(stderr, "tickstack hdb migrate: {}\n", Message(change.status()));
    return kWrongUsage;
  }
  const absl::Status status = Migrate(options, *change);
  if (status.ok()) return 0;
  fmt::print(stderr, "tickstack hdb migrate: {}\n", Message(status));
  return 1;
}

}  // namespace tickstack::cli
