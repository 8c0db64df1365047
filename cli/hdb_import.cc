#include "cli/hdb_import.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "base/directory.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "cli/import_mapping.h"
#include "cli/import_rows.h"
#include "disk/compression.h"
#include "disk/database.h"
#include "disk/partition_writer.h"

namespace tickstack::cli {
namespace {

constexpr int kImportWrongUsage = 2;

// Puts the columns of the mapping in the order of the database's table. kInvalidArgument if they
// are not the same columns: the newest partition defines a table, so that older days would lose
// columns, or have nulls.
absl::Status FitTo(const Schema& existing, ImportMapping& mapping) {
  std::vector<MappedColumn> ordered;
  for (const ColumnSpec& column : existing.columns) {
    const auto found = std::ranges::find_if(
        mapping.columns, [&](const MappedColumn& each) { return each.spec.name == column.name; });
    if (found == mapping.columns.end()) {
      return InvalidArgument("{}: table {} of the database has a column {}, the mapping has none",
                             mapping.table, existing.table, column.name);
    }
    if (found->spec.type != column.type) {
      return InvalidArgument("{}.{}: {}s in the database, but {}s in the mapping", mapping.table,
                             column.name, NameOf(column.type), NameOf(found->spec.type));
    }
    ordered.push_back(*found);
  }
  for (const MappedColumn& column : mapping.columns) {
    if (existing.Find(column.spec.name) >= 0) continue;
    return InvalidArgument("{}: the mapping has a column {}, the table of the database has none",
                           mapping.table, column.spec.name);
  }
  mapping.columns = std::move(ordered);
  return absl::OkStatus();
}

// Returns the schemas of the database's other tables, which need a part in each partition.
absl::StatusOr<std::vector<Schema>> FitToDatabase(const std::string& directory,
                                                  ImportMapping& mapping) {
  std::vector<Schema> others;
  TS_ASSIGN_OR_RETURN(const bool is_there, IsDirectory(directory));
  if (!is_there) return others;
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::Database> database,
                      disk::Database::Open(directory));
  if (!database->partitions().empty() && database->partition_kind() != disk::PartitionKind::kDate) {
    return InvalidArgument("{}: its partitions are {}s, but an import writes days", directory,
                           database->partition_column());
  }
  for (const auto& table : database->partitioned_tables()) {
    if (table->name() == mapping.table) {
      TS_RETURN_IF_ERROR(FitTo(table->schema(), mapping));
    } else {
      others.push_back(table->schema());
    }
  }
  return others;
}

class Importer {
 public:
  Importer(const HdbImportOptions& options, const ImportMapping& mapping,
           std::vector<Schema> others)
      : options_(options), rows_(mapping), others_(std::move(others)) {}

  absl::Status Run(const disk::CompressionOptions& compression);

 private:
  absl::StatusOr<std::vector<int32_t>> DaysToWrite() const;
  absl::Status Write(const disk::PartitionWriterOptions& writer, int32_t date);

  const HdbImportOptions& options_;
  ImportRows rows_;
  const std::vector<Schema> others_;
};

absl::StatusOr<std::vector<int32_t>> Importer::DaysToWrite() const {
  std::vector<int32_t> days;
  TS_ASSIGN_OR_RETURN(const bool has_database, IsDirectory(options_.directory));
  for (const auto& [date, table] : rows_.days()) {
    std::string there;
    if (has_database) {
      TS_ASSIGN_OR_RETURN(there, disk::FindPartition(options_.directory, date));
    }
    if (there.empty()) {
      days.push_back(date);
    } else if (options_.skip_existing) {
      fmt::print(stderr, "{}: is there already, its {} rows are left out\n", Printable(there),
                 table->rows());
    } else {
      return FailedPrecondition("{}: is there already; --skip-existing leaves its rows out", there);
    }
  }
  return days;
}

absl::Status Importer::Write(const disk::PartitionWriterOptions& writer, int32_t date) {
  std::vector<std::shared_ptr<Table>> tables{rows_.days().at(date)};
  for (const Schema& schema : others_) {
    TS_ASSIGN_OR_RETURN(tables.emplace_back(), rows_.MakeTable(schema));
  }
  std::vector<Snapshot> snapshots;
  for (const auto& table : tables) snapshots.push_back(table->TakeSnapshot());
  TS_ASSIGN_OR_RETURN(const disk::WrittenPartition written,
                      disk::WritePartition(writer, date, snapshots));
  fmt::print(stderr, "{} rows={} bytes={}\n", Printable(written.path), tables.front()->rows(),
             written.bytes);
  return absl::OkStatus();
}

absl::Status Importer::Run(const disk::CompressionOptions& compression) {
  for (const std::string& file : options_.files) TS_RETURN_IF_ERROR(rows_.Add(file));
  TS_ASSIGN_OR_RETURN(const std::vector<int32_t> days, DaysToWrite());
  WorkerPool workers(std::max(1u, std::thread::hardware_concurrency()) - 1);
  disk::PartitionWriterOptions writer;
  writer.database = options_.directory;
  writer.workers = &workers;
  writer.compression.Set("default", compression);
  for (const int32_t date : days) TS_RETURN_IF_ERROR(Write(writer, date));
  fmt::print("{}: {} rows of {} files read, {} of {} days written\n", Printable(options_.directory),
             rows_.rows(), options_.files.size(), days.size(), rows_.days().size());
  return absl::OkStatus();
}

int ImportFailed(const absl::Status& status, int code) {
  fmt::print(stderr, "tickstack hdb import: {}\n", Message(status));
  return code;
}

}  // namespace

void AddHdbImportOptions(CLI::App& command, HdbImportOptions& options) {
  command.add_option("directory", options.directory, "Database directory; created if missing")
      ->required();
  command.add_option("files", options.files, "Files in CSV or Arrow's format")->required();
  command.add_option("--mapping", options.mapping, "Mapping of columns, a TOML file")->required();
  command
      .add_option("--compression", options.compression,
                  "none, ipc, gzip, snappy, lz4 or zstd, optionally with a level, such as gzip-6")
      ->capture_default_str();
  command.add_flag("--skip-existing", options.skip_existing,
                   "Leave out rows of days that have a partition, instead of failing");
}

int RunHdbImport(const HdbImportOptions& options) {
  const absl::StatusOr<disk::CompressionOptions> compression =
      disk::ParseCompression(options.compression);
  if (!compression.ok()) return ImportFailed(compression.status(), kImportWrongUsage);
  absl::StatusOr<ImportMapping> mapping = LoadImportMapping(options.mapping);
  if (!mapping.ok()) return ImportFailed(mapping.status(), kImportWrongUsage);
  absl::StatusOr<std::vector<Schema>> others = FitToDatabase(options.directory, *mapping);
  if (!others.ok()) return ImportFailed(others.status(), 1);
  Importer importer(options, *mapping, *std::move(others));
  const absl::Status status = importer.Run(*compression);
  return status.ok() ? 0 : ImportFailed(status, 1);
}

}  // namespace tickstack::cli
