#include "cli/hdb_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "cli/stack_config.h"
#include "disk/column_repair.h"
#include "rdb/day_logs.h"

namespace tickstack::cli {
namespace {

absl::Status Repair(const HdbRepairOptions& options, int32_t date) {
  StackConfig config;
  config.schemas = DefaultSchemas();
  if (!options.config.empty()) {
    TS_ASSIGN_OR_RETURN(config, LoadStackConfig(options.config));
  }
  InitLogging("repair", config.log_level);
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<rdb::LoggedDay> day,
                      rdb::LoggedDay::Replay(options.log, config.schemas, [] { return false; }));
  for (const disk::LeftOutTable& each : day->left_out()) {
    if (each.schema.table == options.table) return InvalidArgument("{}", each.why);
  }
  const std::vector<Snapshot> tables = day->Tables();
  const auto table = std::ranges::find_if(
      tables, [&](const Snapshot& each) { return each.schema().table == options.table; });
  if (table == tables.end()) return NotFound("{}: has no table {}", options.log, options.table);
  WorkerPool workers(std::max(1u, std::thread::hardware_concurrency()) - 1);
  disk::PartitionWriterOptions writer;
  for (const rdb::RdbMainOptions& each : config.rdbs) {
    if (each.end_of_day) writer.compression = each.end_of_day->compression;
  }
  writer.database = options.directory;
  writer.workers = &workers;
  TS_ASSIGN_OR_RETURN(const disk::RepairedColumn repaired,
                      disk::RepairColumn(writer, date, *table, options.column));
  for (const std::string& file : repaired.files) fmt::print("{}: rebuilt\n", file);
  fmt::print(stderr, "a running hdb uses it after it reloads: send it `\\l .`\n");
  return absl::OkStatus();
}

}  // namespace

int RunHdbRepair(const HdbRepairOptions& options) {
  constexpr int kWrongUsage = 2;
  const std::optional<int32_t> date = ParseDate(options.date);
  if (!date) {
    fmt::print(stderr, "tickstack hdb repair: expected a date such as 2024.01.02, found \"{}\"\n",
               options.date);
    return kWrongUsage;
  }
  const absl::Status status = Repair(options, *date);
  if (status.ok()) return 0;
  fmt::print(stderr, "tickstack hdb repair: {}\n", Message(status));
  return 1;
}

}  // namespace tickstack::cli
