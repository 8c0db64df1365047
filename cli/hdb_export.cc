#include "cli/hdb_export.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/printable.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "cli/hdb_archive.h"
#include "disk/database.h"
#include "interchange/partition_export.h"

namespace tickstack::cli {
namespace {

void PrintExported(const interchange::ExportedFile& file) {
  fmt::print(stderr, "{} rows={} source_bytes={} bytes={} ms={}\n", Printable(file.path), file.rows,
             file.source_bytes, file.bytes, file.ns / 1'000'000);
}

absl::StatusOr<interchange::ExportReport> Export(const HdbExportOptions& options) {
  s3::ArchiveAccess archive;  // Destroyed after all columns are closed.
  TS_ASSIGN_OR_RETURN(const s3::ArchiveSettings settings, ArchiveSettingsOf(options.config));
  TS_RETURN_IF_ERROR(archive.Begin(settings));
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::Database> database,
                      disk::Database::Open(options.directory));
  const size_t threads =
      options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  WorkerPool workers(threads - 1);  // The main thread is one of them.
  std::string destination = options.destination;
  while (destination.size() > 1 && destination.ends_with('/')) destination.pop_back();
  return interchange::ExportPartitions(
      *database,
      {.destination = destination,
       .tables = options.tables,
       .skip_columns = options.skip,
       .from = options.from,
       .to = options.to,
       .rows_per_group = options.row_group,
       .zstd_level = options.zstd,
       .dialect = options.spark ? interchange::parquet::Dialect::kSpark
                                : interchange::parquet::Dialect::kExact,
       .force = options.force,
       .workers = &workers,
       .on_file = PrintExported},
      disk::Storage());
}

void PrintExportTotals(const HdbExportOptions& options, const interchange::ExportReport& report,
                       int64_t ns) {
  interchange::ExportedFile total;
  for (const interchange::ExportedFile& file : report.written) {
    total.rows += file.rows;
    total.source_bytes += file.source_bytes;
    total.bytes += file.bytes;
    total.ns += file.ns;
  }
  // Bytes per us of a thread's time are MB/s of a core.
  const double rate = total.ns == 0 ? 0
                                    : static_cast<double>(total.source_bytes) * 1000 /
                                          static_cast<double>(total.ns);
  if (options.json) {
    const nlohmann::ordered_json json = {{"destination", options.destination},
                                         {"written", report.written.size()},
                                         {"unchanged", report.unchanged},
                                         {"rows", total.rows},
                                         {"source_bytes", total.source_bytes},
                                         {"bytes", total.bytes},
                                         {"ms", ns / 1'000'000},
                                         {"mb_per_second_and_thread", rate}};
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  fmt::print(
      "{}: {} files written, {} unchanged, {} rows, {} bytes of {}, {:.0f} MB/s per thread\n",
      Printable(options.destination), report.written.size(), report.unchanged, total.rows,
      total.bytes, total.source_bytes, rate);
}

}  // namespace

void AddHdbExportOptions(CLI::App& command, HdbExportOptions& options) {
  command.add_option("directory", options.directory, "Database directory")->required();
  command.add_option("destination", options.destination, "Directory of the Parquet files")
      ->required();
  command.add_option("--stack", options.config,
                     "Stack configuration, whose [hdb.tiers] names the object store of archived "
                     "partitions");
  command.add_option("--tables", options.tables, "Only these tables, separated by commas")
      ->delimiter(',');
  command
      .add_option("--skip", options.skip, "Leave out these columns, such as trade.cond,quote.ex")
      ->delimiter(',');
  command.add_option("--from", options.from, "First partition, such as 2020.03.09");
  command.add_option("--to", options.to, "Last partition");
  command.add_option("--row-group", options.row_group, "Rows per group")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1} << 26))
      ->capture_default_str();
  command.add_option("--zstd", options.zstd, "Compression level; 0: none")
      ->check(CLI::Range(0, 19))
      ->capture_default_str();
  command.add_flag("--spark", options.spark,
                   "Only types that Spark reads: timestamps in us, rounded down; times of day as "
                   "numbers; guids as text");
  command.add_flag("--force", options.force, "Also write files whose sources are unchanged");
  command.add_flag("--json", options.json, "Print one JSON object");
  command
      .add_option("--threads", options.threads,
                  "Number of threads, each of which writes one file (default: number of cores)")
      ->check(CLI::Range(1, 1024));
}

int RunHdbExport(const HdbExportOptions& options) {
  const int64_t begin_ns = MonotonicNs();
  const absl::StatusOr<interchange::ExportReport> report = Export(options);
  if (!report.ok()) {
    fmt::print(stderr, "tickstack hdb export: {}\n", Message(report.status()));
    return 1;
  }
  PrintExportTotals(options, *report, MonotonicNs() - begin_ns);
  return 0;
}

}  // namespace tickstack::cli
