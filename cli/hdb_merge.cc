#include "cli/hdb_merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "aggengine/remade_bars.h"
#include "base/crc32c.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "cli/security_config.h"
#include "cli/tls_config.h"
#include "disk/database.h"
#include "disk/partition_writer.h"
#include "disk/row_reader.h"
#include "rdb/day_logs.h"
#include "wire/client.h"

namespace tickstack::cli {
namespace {

namespace fs = std::filesystem;

// Rows to merge, and what they are read from.
struct RowsOfFile {
  std::unique_ptr<rdb::LoggedDay> log;
  std::shared_ptr<const disk::SplayedTable> splayed;
  std::vector<disk::LateRows> tables;
};

absl::StatusOr<StackConfig> ConfigOf(const HdbMergeOptions& options) {
  StackConfig config;
  if (!options.config.empty()) {
    TS_ASSIGN_OR_RETURN(config, LoadStackConfig(options.config));
    ResolveAddresses(config);
    return config;
  }
  config.schemas = DefaultSchemas();
  config.bars = aggengine::DefaultBars(config.schemas);
  for (const aggengine::BarSpec& spec : config.bars) {
    TS_ASSIGN_OR_RETURN(
        Schema schema,
        aggengine::SchemaOf(spec, *std::ranges::find(config.schemas, spec.table, &Schema::table)));
    config.schemas.push_back(std::move(schema));
  }
  return config;
}

bool IsBars(const StackConfig& config, std::string_view table) {
  return std::ranges::find(config.bars, table, &aggengine::BarSpec::name) != config.bars.end();
}

// Returns the domains of a splayed table: `sym` beside it or above its partition, or else those of
// the database into which it is merged.
absl::StatusOr<std::shared_ptr<const disk::SymbolDomains>> DomainsOf(const std::string& table,
                                                                     const std::string& database) {
  const fs::path parent = fs::path(table).parent_path();
  for (const fs::path& folder : {parent, parent.parent_path()}) {
    const std::string sym = folder / "sym";
    TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(sym));
    TS_ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(sym));
    if (!is_there || is_directory) continue;
    auto domains = std::make_shared<disk::SymbolDomains>();
    TS_RETURN_IF_ERROR(domains->Add(sym).status());
    return domains;
  }
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::Database> open,
                      disk::Database::Open(database));
  return open->domains();
}

absl::Status ReadSplayed(const HdbMergeOptions& options, RowsOfFile& rows) {
  fs::path path = fs::absolute(options.rows).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // It ended with a slash.
  TS_ASSIGN_OR_RETURN(const auto domains, DomainsOf(path, options.directory));
  TS_ASSIGN_OR_RETURN(rows.splayed, disk::SplayedTable::Open(path, domains));
  const std::string table = options.table.empty() ? path.filename().string() : options.table;
  TS_ASSIGN_OR_RETURN(std::unique_ptr<disk::RowReader> reader,
                      disk::ReadRows(*rows.splayed, table));
  rows.tables.push_back({table, std::move(reader)});
  return absl::OkStatus();
}

absl::Status ReadLog(const HdbMergeOptions& options, const StackConfig& config, RowsOfFile& rows,
                     std::vector<std::string>& notes) {
  {
    TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(options.rows));
    TS_ASSIGN_OR_RETURN(const bool open, file.IsLockedByAnother());
    if (open) return FailedPrecondition("{}: a tickerplant is writing this log", options.rows);
  }
  TS_ASSIGN_OR_RETURN(rows.log,
                      rdb::LoggedDay::Replay(options.rows, config.schemas, [] { return false; }));
  TS_RETURN_IF_ERROR(rows.log->CheckWhole());
  for (const Snapshot& table : rows.log->Tables()) {
    const std::string& name = table.schema().table;
    if (table.rows() == 0 || (!options.table.empty() && name != options.table)) continue;
    if (IsBars(config, name)) {
      notes.push_back(
          fmt::format("{}: {} rows of {} are not merged, because bars are made again from ticks",
                      options.rows, table.rows(), name));
      continue;
    }
    rows.tables.push_back({name, disk::ReadRows(table)});
  }
  return absl::OkStatus();
}

absl::StatusOr<RowsOfFile> ReadFile(const HdbMergeOptions& options, const StackConfig& config,
                                    std::vector<std::string>& notes) {
  RowsOfFile rows;
  TS_ASSIGN_OR_RETURN(const bool is_splayed, IsDirectory(options.rows));
  TS_RETURN_IF_ERROR(is_splayed ? ReadSplayed(options, rows)
                                : ReadLog(options, config, rows, notes));
  uint64_t count = 0;
  for (const disk::LateRows& each : rows.tables) count += each.rows->rows();
  if (count > 0) return rows;
  return NotFound("{}: has no rows to merge{}", options.rows,
                  options.table.empty() ? "" : " of table " + options.table);
}

// Checks that rows of tables with a key replace those of the same key: else there would be two.
absl::Status CheckKeys(const HdbMergeOptions& options, const StackConfig& config,
                       std::span<const disk::LateRows> tables) {
  if (!options.keys.empty()) return absl::OkStatus();
  for (const disk::LateRows& each : tables) {
    const auto schema = std::ranges::find(config.schemas, each.table, &Schema::table);
    if (schema == config.schemas.end() || schema->key_columns == 0) continue;
    std::vector<std::string_view> keys;
    for (const ColumnSpec& column : std::span(schema->columns).first(schema->key_columns)) {
      if (column.name != "date") keys.push_back(column.name);  // The partition's.
    }
    return InvalidArgument("table {}: has one row for each {}: add --corrections {}", each.table,
                           fmt::join(keys, " and "), fmt::join(keys, ","));
  }
  return absl::OkStatus();
}

// Adds the names of symbols to what the rows came from: the files of a splayed table have only
// their positions.
absl::Status AddNames(disk::RowReader& reader, disk::RevisionSource& source) {
  constexpr uint64_t kRows = 65'536;
  std::vector<size_t> symbols;
  for (size_t i = 0; i < reader.schema().columns.size(); ++i) {
    if (reader.schema().columns[i].type == Type::kSymbol) symbols.push_back(i);
  }
  reader.Select(symbols);
  for (uint64_t row = 0; row < reader.rows(); row += kRows) {
    TS_ASSIGN_OR_RETURN(const BatchView batch,
                        reader.Read(row, std::min(row + kRows, reader.rows())));
    for (const ColumnView& column : batch.columns) {
      source.crc = ExtendCrc32c(source.crc, column.data);
    }
  }
  return absl::OkStatus();
}

// Makes the bars of the merged tables that the partition has.
absl::StatusOr<std::vector<std::shared_ptr<Table>>> BarsOf(std::span<const aggengine::BarSpec> bars,
                                                           std::span<const Snapshot> merged,
                                                           std::span<const std::string> stored,
                                                           disk::MergeMemory memory) {
  std::vector<std::shared_ptr<Table>> tables;
  for (const Snapshot& ticks : merged) {
    std::vector<aggengine::BarSpec> specs;
    for (const aggengine::BarSpec& spec : bars) {
      const bool is_stored = std::ranges::find(stored, spec.name) != stored.end();
      if (spec.table == ticks.schema().table && is_stored) specs.push_back(spec);
    }
    TS_ASSIGN_OR_RETURN(const std::vector<std::shared_ptr<Table>> made,
                        aggengine::RemakeBars(specs, ticks, memory.symbols, memory.tier));
    tables.insert(tables.end(), made.begin(), made.end());
  }
  return tables;
}

absl::Status TellHdb(const HdbMergeOptions& options, const StackConfig& config) {
  std::string hdb = options.hdb;
  for (const rdb::RdbMainOptions& each : config.rdbs) {
    if (hdb.empty() && each.end_of_day) hdb = each.end_of_day->hdb;
  }
  return ReloadHdb(hdb, !options.config.empty());
}

void PrintMerged(const HdbMergeOptions& options, const disk::MergedPartition& merged) {
  if (merged.already) {
    fmt::print("{}: version {} has these rows already; use --again to add them once more\n",
               merged.path, merged.version);
    return;
  }
  for (const disk::MergedTable& each : merged.tables) {
    if (each.derived) {
      fmt::print("{}/{}: {} bars, {} before\n", merged.path, each.table, each.rows.after,
                 each.rows.before);
    } else {
      fmt::print("{}/{}: {} rows before, {} added, {} replaced, {} now\n", merged.path, each.table,
                 each.rows.before, each.rows.added, each.rows.replaced, each.rows.after);
    }
  }
  if (options.dry_run) {
    fmt::print("{}: a trial run, nothing was changed\n", merged.path);
  } else {
    fmt::print("{}: is version {}; the version before it is {}\n", merged.path, merged.version,
               merged.replaced);
  }
}

absl::Status PrintVersions(const HdbMergeOptions& options, int32_t date) {
  TS_ASSIGN_OR_RETURN(const std::vector<disk::KeptVersion> kept,
                      disk::FinishMerge(options.directory, date, disk::Storage()));
  for (const disk::KeptVersion& each : kept) {
    fmt::print("version {} is kept: {}\n", each.number, each.directory);
  }
  if (kept.empty()) fmt::print("no earlier version is kept\n");
  return absl::OkStatus();
}

absl::Status Merge(const HdbMergeOptions& options, int32_t date) {
  TS_ASSIGN_OR_RETURN(const StackConfig config, ConfigOf(options));
  InitLogging("merge", config.log_level);
  TS_ASSIGN_OR_RETURN(const std::string partition, disk::FindPartition(options.directory, date));
  UseFileAccessOf(partition);
  if (!options.config.empty()) {
    TS_RETURN_IF_ERROR(UseTls(config));
    TS_RETURN_IF_ERROR(BeginLinks(config, /*may_create=*/false));
  }
  if (options.undo) {
    TS_ASSIGN_OR_RETURN(const disk::UndoneVersion undone,
                        disk::UndoMerge(options.directory, date, disk::Storage()));
    fmt::print("version {} is in effect again; the undone one is {}\n", undone.number,
               undone.directory);
    return TellHdb(options, config);
  }
  if (options.rows.empty()) return PrintVersions(options, date);
  std::vector<std::string> notes;
  const absl::StatusOr<disk::MergedPartition> merged =
      MergeFile(options, date, config, /*observer=*/nullptr, notes);
  for (const std::string& note : notes) fmt::print(stderr, "{}\n", note);
  TS_RETURN_IF_ERROR(merged.status());
  PrintMerged(options, *merged);
  return options.dry_run ? absl::OkStatus() : TellHdb(options, config);
}

}  // namespace

absl::Status ReloadHdb(const std::string& hdb, bool is_link) {
  if (hdb.empty()) {
    fmt::print(stderr, "a running hdb uses it after it reloads: send it `\\l .`\n");
    return absl::OkStatus();
  }
  constexpr std::chrono::seconds kTimeout{60};
  TS_ASSIGN_OR_RETURN(const wire::Address address, wire::ParseAddress(hdb));
  wire::ClientOptions client;
  client.is_link = is_link;
  return Annotate(wire::Ask(address, Value::String("\\l ."), kTimeout, client).status(),
                  fmt::format("the database is changed, but the hdb {} did not reload", hdb));
}

absl::StatusOr<disk::MergedPartition> MergeFile(const HdbMergeOptions& options, int32_t date,
                                                const StackConfig& config,
                                                disk::StorageObserver* observer,
                                                std::vector<std::string>& notes) {
  disk::MergeOptions merge;
  TS_ASSIGN_OR_RETURN(const disk::RevisionSource before, disk::SourceOf(options.rows));
  TS_ASSIGN_OR_RETURN(RowsOfFile rows, ReadFile(options, config, notes));
  TS_ASSIGN_OR_RETURN(merge.source, disk::SourceOf(options.rows));
  if (!merge.source.HasSameBytes(before)) {
    return FailedPrecondition("{}: it changed while it was read: repeat the command", options.rows);
  }
  if (rows.splayed != nullptr) {
    TS_RETURN_IF_ERROR(AddNames(*rows.tables.front().rows, merge.source));
  }
  TS_RETURN_IF_ERROR(CheckKeys(options, config, rows.tables));
  WorkerPool workers(std::max(1u, std::thread::hardware_concurrency()) - 1);
  for (const rdb::RdbMainOptions& each : config.rdbs) {
    if (each.end_of_day) merge.writer.compression = each.end_of_day->compression;
  }
  merge.writer.database = options.directory;
  merge.writer.workers = observer == nullptr ? &workers : nullptr;
  merge.writer.observer = observer;
  merge.again = options.again;
  merge.keys = options.keys;
  merge.other_dates = options.other_dates;
  merge.dry_run = options.dry_run;
  if (!options.leave_bars) {
    merge.derive = [&config](std::span<const Snapshot> merged, std::span<const std::string> stored,
                             disk::MergeMemory memory) {
      return BarsOf(config.bars, merged, stored, memory);
    };
  }
  return disk::MergePartition(merge, date, rows.tables);
}

void AddHdbMergeOptions(CLI::App& command, HdbMergeOptions& options) {
  command.add_option("directory", options.directory, "Database directory")->required();
  command.add_option("--date", options.date, "Day of the partition, such as 2024.01.02")
      ->required();
  command.add_option("--rows", options.rows,
                     "Log, or directory of a splayed table; without it, end an interrupted merge "
                     "and list the kept versions");
  command.add_option("--table", options.table,
                     "Only this table of a log; the name of a splayed table, if its directory has "
                     "another");
  command
      .add_option("--corrections", options.keys,
                  "Key columns, such as sym,time: a row replaces those with the same key")
      ->delimiter(',');
  command.add_option("--stack", options.config,
                     "Stack configuration; needed if it sets tables or bars; its hdb is told");
  command.add_option("--hdb", options.hdb, "HOST:PORT of an hdb that reloads afterwards");
  command.add_flag("--leave-bars", options.leave_bars, "Do not make bars again");
  command.add_flag("--other-dates", options.other_dates, "Allow rows with times on other dates");
  command.add_flag("--again", options.again, "Merge rows that were merged before once more");
  command.add_flag("--dry-run", options.dry_run, "Only show what would be merged");
  command.add_flag("--undo", options.undo, "Put the version before the last merge back");
}

int RunHdbMerge(const HdbMergeOptions& options) {
  constexpr int kWrongUsage = 2;
  const std::optional<int32_t> date = ParseDate(options.date);
  if (!date) {
    fmt::print(stderr, "tickstack hdb merge: expected a date such as 2024.01.02, found \"{}\"\n",
               options.date);
    return kWrongUsage;
  }
  if (options.undo && !options.rows.empty()) {
    fmt::print(stderr, "tickstack hdb merge: expected one of --rows and --undo, found both\n");
    return kWrongUsage;
  }
  const absl::Status status = Merge(options, *date);
  if (status.ok()) return 0;
  fmt::print(stderr, "tickstack hdb merge: {}\n", Message(status));
  return 1;
}

}  // namespace tickstack::cli
