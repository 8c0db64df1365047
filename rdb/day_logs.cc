#include "rdb/day_logs.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/directory.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/rows_of_date.h"
#include "disk/splayed_table.h"
#include "disk/table_revisions.h"
#include "wire/log_replay.h"
#include "wire/tplog_check.h"

namespace tickstack::rdb {
namespace {

using namespace std::chrono_literals;

constexpr size_t kDateBytes = 10;     // 2013.10.07
constexpr auto kReplaySlice = 100ms;  // Replay time between two checks of `stop`.

absl::Status CompareRows(const std::string& partition, const std::string& log,
                         const wire::TableRows& logged, std::span<const Schema> schemas) {
  for (const auto& [table, rows] : logged) {
    const std::string folder = fmt::format("{}/{}", partition, table);
    TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::SplayedTable> stored,
                        disk::SplayedTable::Open(folder));
    TS_ASSIGN_OR_RETURN(const uint64_t now, stored->Rows());
    // Rows that `hdb merge` added later are not in the day's log.
    TS_ASSIGN_OR_RETURN(const uint64_t found, disk::RowsBeforeRevisions(folder, now));
    const auto schema = std::ranges::find(schemas, table, &Schema::table);
    const bool keyed = schema != schemas.end() && schema->key_columns > 0;
    const bool may_be_empty = keyed && disk::RowsOfDate::ByKey(*schema);
    if (found == rows || (keyed && found < rows && (found > 0 || may_be_empty))) continue;
    return DataLoss("{}: {} rows, expected the {} that {} has", folder, found, rows, log);
  }
  return absl::OkStatus();
}

// Checks that a replay which ended after `messages` messages has seen the whole log. A torn tail is
// normal after a tickerplant was killed; whole messages behind it, or in the index, mean damage.
absl::Status CheckEnd(const std::string& log, uint64_t messages, uint64_t torn_bytes) {
  TS_ASSIGN_OR_RETURN(const uint64_t indexed, wire::MessagesIndexed(log));
  if (indexed > messages) {
    return DataLoss("{}: ends after message {}, its index has {} messages", log, messages, indexed);
  }
  if (torn_bytes == 0) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const wire::TplogReport report, wire::CheckTplog(log));
  if (report.damaged.empty()) return absl::OkStatus();
  return DataLoss("{}: {} bytes from byte {} are no messages, and whole ones follow", log,
                  report.damaged.front().bytes, report.damaged.front().offset);
}

}  // namespace

std::optional<DayLog> ParseDayLog(std::string_view path) {
  if (path.size() < kDateBytes) return std::nullopt;
  const std::string_view text = path.substr(path.size() - kDateBytes);
  const std::optional<int32_t> date = ParseDate(text);
  if (!date || FormatDate(*date) != text) return std::nullopt;
  return DayLog{*date, std::string(path)};
}

absl::StatusOr<std::vector<DayLog>> FindDayLogs(const std::string& folder, std::string_view name) {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(folder));
  std::vector<DayLog> logs;
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_file || entry.name.size() != name.size() + kDateBytes) continue;
    std::optional<DayLog> log = ParseDayLog(fmt::format("{}/{}", folder, entry.name));
    if (log && entry.name.starts_with(name)) logs.push_back(*std::move(log));
  }
  std::ranges::sort(logs, {}, &DayLog::date);
  return logs;
}

absl::StatusOr<std::unique_ptr<LoggedDay>> LoggedDay::Replay(const std::string& log,
                                                             std::span<const Schema> schemas,
                                                             absl::FunctionRef<bool()> stop,
                                                             mem::Tier* tier) {
  std::unique_ptr<LoggedDay> day(new LoggedDay);
  const Placement placement(tier == nullptr ? day->dram_.get() : tier);
  day->rdb_ = std::make_unique<Rdb>(RdbOptions(), placement, &SystemClock::Instance());
  day->rdb_->OnSchemas(schemas);
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<wire::LogReplay> replay, wire::LogReplay::Open(log));
  auto progress = wire::LogReplay::Progress::kMore;
  while (progress == wire::LogReplay::Progress::kMore) {
    if (stop()) return absl::CancelledError("stopped");
    TS_ASSIGN_OR_RETURN(progress, replay->Step(*day->rdb_, UINT64_MAX, kReplaySlice));
  }
  TS_RETURN_IF_ERROR(CheckEnd(log, day->rdb_->position().seq(), replay->torn_bytes()));
  const RdbCounters& counters = day->rdb_->counters();
  if (counters.rows_refused > 0) {
    return ResourceExhausted("{}: {} does not hold {} of its rows", log,
                             tier == nullptr ? "memory" : "tier " + tier->Stats().name,
                             counters.rows_refused.load());
  }
  for (const auto& [table, rows] : day->rdb_->unknown_rows()) {
    if (rows == 0) continue;
    return InvalidArgument(
        "{}: {} rows of a table {} that [tables] does not have: nothing is written", log, rows,
        table);
  }
  for (const auto& [table, refused] : day->rdb_->refused_upds()) {
    return InvalidArgument(
        "{}: {} rows of {} in {} of the messages {} to {} are not of its schema: {}: nothing is "
        "written; a changed schema must be restored (docs/operating/repair.md)",
        log, refused.rows, table, refused.messages, refused.first_seq, refused.last_seq,
        refused.why);
  }
  return day;
}

std::string RowsNotInMemory(const std::string& log, std::span<const Snapshot> tables) {
  std::string text;
  const absl::StatusOr<wire::TableRows> logged = wire::CountTplogRows(log);
  if (!logged.ok()) return text;
  for (const Snapshot& table : tables) {
    const auto rows = logged->find(table.schema().table);
    if (rows == logged->end() || rows->second == table.rows()) continue;
    text += fmt::format("; of {} rows of {} {} are in memory", rows->second, table.schema().table,
                        table.rows());
  }
  return text;
}

std::vector<Snapshot> LoggedDay::Tables() const {
  std::vector<Snapshot> tables;
  for (const std::string& name : rdb_->TableNames()) tables.push_back(*rdb_->FindTable(name));
  return tables;
}

void WarnOfOtherDates(int32_t date, const disk::WrittenPartition& written) {
  for (const disk::WrittenTable& table : written.tables) {
    if (table.other_date_rows == 0) continue;
    LogWarn("rows of other dates {} table={} date={} rows={} first={} last={}",
            table.left_out ? "left out of the partition, the log has them"
                           : "are in the partition, which has no room for a column `date`",
            table.table, FormatDate(date), table.other_date_rows,
            FormatDate(table.first_other_date), FormatDate(table.last_other_date));
  }
}

absl::Status CompareRowsWithLog(const std::string& partition, const std::string& log,
                                std::span<const Schema> schemas) {
  TS_ASSIGN_OR_RETURN(const wire::TableRows logged, wire::CountTplogRows(log));
  wire::TableRows known;
  for (const Schema& schema : schemas) {
    if (const auto at = logged.find(schema.table); at != logged.end()) known.insert(*at);
  }
  return CompareRows(partition, log, known, schemas);
}

absl::Status VerifyAgainstLog(const std::string& partition, const std::string& log,
                              std::span<const Schema> schemas) {
  TS_ASSIGN_OR_RETURN(const wire::TplogReport report, wire::CheckTplog(log));
  if (report.problem_count > 0) {
    return DataLoss("{}: byte {}: {}", log, report.problems.front().offset,
                    report.problems.front().text);
  }
  wire::TableRows logged = report.totals.rows;
  for (const Schema& schema : schemas) logged.try_emplace(schema.table, 0);
  return CompareRows(partition, log, logged, schemas);
}

}  // namespace tickstack::rdb
