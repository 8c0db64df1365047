// [hdb] and `tickstack hdb`.

#include <CLI/CLI.hpp>

#include "base/status.h"
#include "cli/hdb_archive.h"
#include "cli/process_table.h"
#include "cli/shard_config.h"
#include "cli/shared_options.h"
#include "hdb/hdb_metrics.h"

namespace tickstack::cli {
namespace {

using hdb::HdbMainOptions;

absl::Status ReadHdb(const ConfigTable& /*root*/, const ConfigTable& table, StackConfig& /*config*/,
                     HdbMainOptions& options) {
  TS_RETURN_IF_ERROR(table.Read("database", &options.database));
  TS_RETURN_IF_ERROR(table.ReadBytes("cache", &options.cache_bytes));
  TS_ASSIGN_OR_RETURN(const ConfigTable tiers, table.Table("tiers"));
  TS_RETURN_IF_ERROR(ReadArchiveSettings(tiers, options.archive));
  return ReadQuerySettings(table, options);
}

std::function<void()> AddHdbFlags(CLI::App& command, StackConfig& config, HdbMainOptions& options) {
  AddDataFlag(command, config);
  command.add_option("--db", options.database, "Database directory (default: DATA/hdb)");
  AddBytesFlag(command, "--cache", options.cache_bytes,
               "Cache size for decompressed columns; 0: a quarter of the machine's memory");
  AddQueryFlags(command, options);
  return nullptr;
}

int Run(const StackConfig& config, HdbMainOptions& options) {
  if (options.database.empty()) options.database = DataOf(config, options.name) + "/hdb";
  return hdb::RunHdb(options);
}

}  // namespace

const ProcessHooks<HdbMainOptions> kHdbHooks = {
    .read = ReadHdb,
    .add_flags = AddHdbFlags,
    .run = Run,
    .child_flags = [](const StackConfig& config, const HdbMainOptions&,
                      Flags& flags) { flags.insert(flags.end(), {"--data", config.data}); },
    .metrics = hdb::Metrics,
};

}  // namespace tickstack::cli
