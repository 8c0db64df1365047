// [[feed]] and `tickstack feed`.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>

#include "base/status.h"
#include "base/time.h"
#include "cli/process_table.h"
#include "cli/shared_options.h"
#include "cli/source_config.h"
#include "feed/feed_metrics.h"

namespace tickstack::cli {
namespace {

using feed::FeedOptions;

// It publishes to the file's tickerplant unless the file says another.
absl::Status ReadFeed(const ConfigTable& /*root*/, const ConfigTable& table, StackConfig& config,
                      FeedOptions& options) {
  if (config.tickerplant) options.tickerplant = config.tickerplant->name;
  TS_RETURN_IF_ERROR(table.Read("tickerplant", &options.tickerplant));
  TS_RETURN_IF_ERROR(ReadSource(table, options.source));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "batch_ms", &options.batch_ms));
  TS_RETURN_IF_ERROR(table.ReadBytes("queue_bytes", &options.queue_bytes));
  TS_RETURN_IF_ERROR(
      table.Read("window_rows", &options.window_rows, int64_t{0}, int64_t{1'000'000'000'000}));
  TS_RETURN_IF_ERROR(table.Read("busy_poll", &options.busy_poll));
  TS_RETURN_IF_ERROR(table.Read("start", &options.start));
  TS_RETURN_IF_ERROR(table.Read("again", &options.again));
  TS_RETURN_IF_ERROR(table.Read("shards", &options.shards.only));
  return table.Read("exit_when_done", &options.exit_when_done);
}

size_t IndexOf(const ShardMap& map, const std::string& shard) {
  const auto found = std::ranges::find(map.shards(), shard);
  return found == map.shards().end() ? SIZE_MAX : static_cast<size_t>(found - map.shards().begin());
}

// Replaces the addresses of the configuration's shards. Each is NAME=HOST:PORT.
void SetShards(const std::vector<std::string>& shards, FeedOptions& options) {
  for (const std::string& shard : shards) {
    const size_t equals = shard.find('=');
    const size_t index = options.shards.map == nullptr || equals == std::string::npos
                             ? SIZE_MAX
                             : IndexOf(*options.shards.map, shard.substr(0, equals));
    if (index == SIZE_MAX) {
      throw CLI::ValidationError("--shard",
                                 "expected NAME=HOST:PORT of a shard of the "
                                 "configuration, found " +
                                     shard);
    }
    options.shards.tickerplants[index] = shard.substr(equals + 1);
  }
}

std::function<void()> AddFeedFlags(CLI::App& command, StackConfig& config, FeedOptions& options) {
  const CLI::Option* const address = command
                                         .add_option("--tickerplant", options.tickerplant,
                                                     "Address of the tickerplant to publish to")
                                         ->capture_default_str();
  command
      .add_option_function<std::vector<std::string>>(
          "--shard",
          [&options](const std::vector<std::string>& shards) { SetShards(shards, options); },
          "Address of a shard's tickerplant as NAME=HOST:PORT; may be repeated")
      ->allow_extra_args(false);
  AddDateFlag(command, config, "lean: day to publish, such as 2013.10.07");
  AddDataFlag(command, config);
  std::function<void()> set_source = AddSourceFlags(command, options.source);
  command
      .add_option("--batch-ms", options.batch_ms,
                  "Send interval in ms; a message has the rows that became due in it")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option(
          "--window-rows", options.window_rows,
          "Wait while a subscriber is more than this many rows behind, if the source sends as fast "
          "as possible; 0: never wait")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_flag("--start", options.start,
                   "Start immediately instead of waiting for .feed.start[]");
  command.add_flag("--exit-when-done", options.exit_when_done,
                   "Exit once the tickerplant has logged every row");
  command.add_flag("--take-over", options.take_over,
                   "Take the feed's name from a running feed, which then fails");
  command.add_flag("--again", options.again,
                   "Send the source although rows of it are logged under another map of shards");
  command.add_flag("--busy-poll", options.busy_poll, "Poll instead of sleeping; occupies one core");
  return [set_source, address, &options] {
    if (set_source) set_source();
    if (address->count() > 0 && options.shards.map != nullptr) {
      throw CLI::ValidationError("--tickerplant",
                                 "the configuration has shards: expected --shard NAME=HOST:PORT");
    }
  };
}

void AddChildFlags(const StackConfig& config, const FeedOptions& options, Flags& flags) {
  const feed::FeedShards& shards = options.shards;
  if (shards.map == nullptr) flags.insert(flags.end(), {"--tickerplant", options.tickerplant});
  for (size_t i = 0; i < shards.tickerplants.size(); ++i) {
    flags.insert(flags.end(), {"--shard", fmt::format("{}={}", shards.map->shards()[i],
                                                      shards.tickerplants[i])});
  }
  if (options.start) flags.emplace_back("--start");
  flags.insert(flags.end(), {"--data", config.data});
  if (config.date) flags.insert(flags.end(), {"--date", *config.date});
}

void SetDateOfSource(int32_t day, FeedOptions& options) {
  for (const auto& source : options.source.all()) source->date = FormatDate(day);
}

}  // namespace

const ProcessHooks<FeedOptions> kFeedHooks = {
    .read = ReadFeed,
    .add_flags = AddFeedFlags,
    .run =
        [](const StackConfig& config, FeedOptions& options) {
          for (const auto& source : options.source.all()) {
            source->folder = fmt::format("{}/feed/{}", config.data, options.name);
          }
          return feed::RunFeed(options);
        },
    .resolve =
        [](const AddressOf& address_of, FeedOptions& options) {
          options.tickerplant = address_of(options.tickerplant);
          for (std::string& each : options.shards.tickerplants) each = address_of(each);
        },
    .child_flags = AddChildFlags,
    .set_date = SetDateOfSource,
    .metrics = feed::Metrics,
};

}  // namespace tickstack::cli
