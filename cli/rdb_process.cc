// [[rdb]] and `tickstack rdb`.

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "base/logging.h"
#include "base/status.h"
#include "cli/listener_config.h"
#include "cli/prestress_config.h"
#include "cli/process_table.h"
#include "cli/schema_conflicts.h"
#include "cli/shared_options.h"
#include "cli/stack_config.h"
#include "cli/tier_config.h"
#include "rdb/rdb_metrics.h"

namespace tickstack::cli {
namespace {

using rdb::RdbMainOptions;

// Reads the options of an rdb. By default it subscribes to the [tickerplant] of the same file.
absl::Status ReadRdb(const ConfigTable& root, const ConfigTable& table, StackConfig& config,
                     RdbMainOptions& options) {
  if (config.tickerplant) options.tickerplant = config.tickerplant->name;
  TS_RETURN_IF_ERROR(table.Read("tickerplant", &options.tickerplant));
  TS_RETURN_IF_ERROR(table.Read("replay", &options.replay));
  options.replay_schemas = config.schemas;
  TS_RETURN_IF_ERROR(table.Read("read_log_file", &options.read_log_file));
  TS_RETURN_IF_ERROR(ReadQuerySettings(table, options));
  TS_RETURN_IF_ERROR(table.ReadBytes("max_message_bytes", &options.max_message_bytes));
  TS_RETURN_IF_ERROR(table.Read("busy_poll", &options.busy_poll));
  TS_RETURN_IF_ERROR(table.Read("numa_node", &options.numa_node, 0, kNumaNodeMax));
  options.knows_tables = KnowsTables(config, options);
  const std::vector<Schema>* schemas = options.knows_tables ? &config.schemas : nullptr;
  TS_RETURN_IF_ERROR(ReadTiers(root, table, schemas, options, config.warnings));
  return ReadPrestress(table, schemas, options);
}

std::function<void()> AddRdbFlags(CLI::App& command, StackConfig& config, RdbMainOptions& options) {
  AddDataFlag(command, config);
  command.add_option_function<std::string>(
      "--hdb",
      [&options](const std::string& hdb) {
        if (options.end_of_day) options.end_of_day->hdb = hdb;
      },
      "Address of the hdb to reload after end of day; the configuration must have [eod]");
  command
      .add_option("--tickerplant", options.tickerplant,
                  "Address of the tickerplant to subscribe to")
      ->capture_default_str();
  command.add_option("--replay", options.replay,
                     "Serve this tickerplant log instead of subscribing to a tickerplant");
  command
      .add_flag("--read-log-file,!--no-read-log-file", options.read_log_file,
                "Replay the log from its file if it can be opened, otherwise over the connection")
      ->capture_default_str();
  AddBytesFlag(command, "--memory", options.tiers.front().options.capacity_bytes,
               "Capacity of the DRAM tier, such as 16GiB");
  AddQueryFlags(command, options);
  command.add_flag("--busy-poll", options.busy_poll, "Poll instead of sleeping; occupies one core");
  const std::function<void()> check =
      AddTakeOverFlag(command, "rdb", options.listener, options.take_over);
  return [check, &options] {
    check();
    if (options.take_over && !options.replay.empty()) {
      throw CLI::ValidationError("--take-over", "cannot be combined with --replay");
    }
  };
}

void Resolve(const AddressOf& address_of, RdbMainOptions& options) {
  options.tickerplant = address_of(options.tickerplant);
  if (options.end_of_day) options.end_of_day->hdb = address_of(options.end_of_day->hdb);
}

void AddChildFlags(const StackConfig& config, const RdbMainOptions& options, Flags& flags) {
  flags.insert(flags.end(), {"--tickerplant", options.tickerplant});
  if (options.end_of_day && !options.end_of_day->hdb.empty()) {
    flags.insert(flags.end(), {"--hdb", options.end_of_day->hdb});
  }
  flags.insert(flags.end(), {"--data", config.data});
}

// Refuses days of other types than those of the database.
int Run(const StackConfig& config, RdbMainOptions& options) {
  const std::vector<std::string> conflicts = SchemaConflictsOf(config, options);
  if (conflicts.empty()) return rdb::RunRdb(options);
  InitLogging(options.name);
  LogError("rdb ends error=\"{}\"", fmt::join(conflicts, "; "));
  return EXIT_FAILURE;
}

}  // namespace

const ProcessHooks<RdbMainOptions> kRdbHooks = {
    .read = ReadRdb,
    .add_flags = AddRdbFlags,
    .run = Run,
    .resolve = Resolve,
    .child_flags = AddChildFlags,
    .metrics = rdb::Metrics,
};

}  // namespace tickstack::cli
