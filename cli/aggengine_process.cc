// [aggengine] and `tickstack aggengine`.

#include <CLI/CLI.hpp>

#include "aggengine/aggengine_metrics.h"
#include "base/status.h"
#include "cli/process_table.h"
#include "cli/shared_options.h"
#include "cli/tier_config.h"

namespace tickstack::cli {
namespace {

using aggengine::AggEngineMainOptions;

absl::Status ReadAggEngine(const ConfigTable& root, const ConfigTable& table, StackConfig& config,
                           AggEngineMainOptions& options) {
  options.bars = config.bars;
  if (config.tickerplant) options.tickerplant = config.tickerplant->name;
  TS_RETURN_IF_ERROR(table.Read("tickerplant", &options.tickerplant));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "publish_ms", &options.publish_ms));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "publish_gap_ms", &options.publish_gap_ms));
  TS_RETURN_IF_ERROR(table.Read("read_log_file", &options.read_log_file));
  TS_RETURN_IF_ERROR(table.ReadBytes("history_bytes", &options.history_bytes));
  TS_RETURN_IF_ERROR(table.ReadBytes("max_message_bytes", &options.max_message_bytes));
  TS_RETURN_IF_ERROR(table.Read("busy_poll", &options.busy_poll));
  return ReadStateTier(root, table, options.state, config.warnings);
}

std::function<void()> AddAggEngineFlags(CLI::App& command, StackConfig& /*config*/,
                                        AggEngineMainOptions& options) {
  command
      .add_option("--tickerplant", options.tickerplant,
                  "Address of the tickerplant to subscribe and publish to")
      ->capture_default_str();
  command
      .add_option("--publish-ms", options.publish_ms,
                  "Publish interval in ms for changed bars; 0: half of the tickerplant's interval")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--publish-gap-ms", options.publish_gap_ms,
                  "With --publish-ms 0: minimum time between two publications in ms")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_flag("--read-log-file,!--no-read-log-file", options.read_log_file,
                "Replay the log from its file if it can be opened, otherwise over the connection")
      ->capture_default_str();
  AddBytesFlag(
      command, "--history-bytes", options.history_bytes,
      "Memory limit for the day's quotes that time-weighted averages need, 16 bytes each; 0: "
      "half of the tier, if the tier has a size");
  command.add_flag("--busy-poll", options.busy_poll, "Poll instead of sleeping; occupies one core");
  return nullptr;
}

}  // namespace

const ProcessHooks<AggEngineMainOptions> kAggEngineHooks = {
    .read = ReadAggEngine,
    .add_flags = AddAggEngineFlags,
    .run = [](const StackConfig&,
              AggEngineMainOptions& options) { return aggengine::RunAggEngine(options); },
    .resolve =
        [](const AddressOf& address_of, AggEngineMainOptions& options) {
          options.tickerplant = address_of(options.tickerplant);
        },
    .child_flags =
        [](const StackConfig&, const AggEngineMainOptions& options, Flags& flags) {
          flags.insert(flags.end(), {"--tickerplant", options.tickerplant});
        },
    .metrics = aggengine::Metrics,
};

}  // namespace tickstack::cli
