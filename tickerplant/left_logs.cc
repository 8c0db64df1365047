#include "tickerplant/left_logs.h"

#include <algorithm>
#include <vector>

#include "base/directory.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "tickerplant/opened_log.h"
#include "tickerplant/shard_rows.h"
#include "tplog/tplog_blocks.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_state.h"

namespace tickstack::tickerplant {
namespace {

// The folders with logs of which this stack has no tickerplant.
absl::StatusOr<std::vector<std::string>> LeftFolders(const std::string& data,
                                                     std::string_view log_name,
                                                     const ShardMap* map) {
  std::vector<std::string> folders;
  if (map != nullptr) folders.push_back(data + "/tplog");
  const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(data);
  if (absl::IsNotFound(entries.status())) return folders;
  TS_RETURN_IF_ERROR(entries.status());
  for (const DirectoryEntry& entry : *entries) {
    const bool is_used =
        map != nullptr && std::ranges::find(map->shards(), entry.name) != map->shards().end();
    if (is_used || !entry.is_directory) continue;
    const std::string folder = fmt::format("{}/{}/tplog", data, entry.name);
    // A folder that this process cannot read, such as lost+found, is none that it wrote.
    const bool is_shard = FileExists(ShardFileOf(folder, log_name)).value_or(false);
    if (is_shard) folders.push_back(folder);
  }
  return folders;
}

absl::StatusOr<NameMap<tplog::TableRows>> FeedRowsOf(const std::string& log) {
  const absl::StatusOr<std::unique_ptr<tplog::TplogBlocks>> blocks = tplog::TplogBlocks::Open(log);
  if (absl::IsNotFound(blocks.status())) return NameMap<tplog::TableRows>();
  TS_RETURN_IF_ERROR(blocks.status());
  tplog::TplogTotals totals;
  while (true) {
    const absl::StatusOr<std::optional<tplog::IndexBlock>> block = (*blocks)->Next();
    // Blocks that were indexed after the fact name no feed.
    if (!block.ok() && !absl::IsFailedPrecondition(block.status())) return block.status();
    if (!block.ok() || !*block) break;
    tplog::AddFeedRows(**block, (*blocks)->names(), totals);
  }
  for (const auto& [feed, tables] : (*blocks)->carried()) {
    for (const auto& [table, rows] : tables) totals.feed_rows[feed][table] += rows;
  }
  return totals.feed_rows;
}

}  // namespace

absl::StatusOr<NameMap<tplog::TableRows>> ReadLeftLogs(const std::string& data,
                                                       std::string_view log_name,
                                                       const ShardMap* map) {
  NameMap<tplog::TableRows> all;
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> folders, LeftFolders(data, log_name, map));
  for (const std::string& folder : folders) {
    TS_ASSIGN_OR_RETURN(const std::vector<int32_t> days, DaysOfLogsIn(folder, log_name));
    if (days.empty()) continue;
    const std::string log =
        fmt::format("{}/{}{}", folder, log_name, FormatDate(std::ranges::max(days)));
    TS_ASSIGN_OR_RETURN(const tplog::TplogState state, tplog::ReadTplogState(log));
    TS_ASSIGN_OR_RETURN(const bool has_rows, HasRows(log));
    if (has_rows && !state.ended) {
      return FailedPrecondition(
          "{}: has rows of a day that has not ended, which this stack has no tickerplant for: "
          "start "
          "with the [[shard]] sections of then and end the day (tickstack eod), or move the log "
          "away",
          log);
    }
    TS_ASSIGN_OR_RETURN(const NameMap<tplog::TableRows> rows, FeedRowsOf(log));
    for (const auto& [feed, tables] : rows) {
      for (const auto& [table, count] : tables) all[feed][table] += count;
    }
  }
  return all;
}

}  // namespace tickstack::tickerplant
