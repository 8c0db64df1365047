#include "rdb/day_logs.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/anymap_writer.h"
#include "disk/left_out_table.h"
#include "disk/rows_of_date.h"
#include "disk/schema_check.h"
#include "disk/splayed_table.h"
#include "disk/table_revisions.h"
#include "tplog/log_replay.h"
#include "tplog/tplog_check.h"

namespace tickstack::rdb {
namespace {

using namespace std::chrono_literals;

constexpr size_t kDateBytes = 10;     // 2013.10.07
constexpr auto kReplaySlice = 100ms;  // Replay time between two checks of `stop`.

absl::Status CompareRows(const std::string& partition, const std::string& log,
                         const tplog::TableRows& logged, std::span<const Schema> schemas) {
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
// normal after a tickerplant was killed; messages of the index behind it mean damage.
absl::Status CheckEnd(const std::string& log, uint64_t messages) {
  TS_ASSIGN_OR_RETURN(const uint64_t indexed, tplog::MessagesIndexed(log));
  if (indexed > messages) {
    return DataLoss("{}: ends after message {}, its index has {} messages", log, messages, indexed);
  }
  return absl::OkStatus();
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
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<tplog::LogReplay> replay, tplog::LogReplay::Open(log));
  auto progress = tplog::LogReplay::Progress::kMore;
  while (progress == tplog::LogReplay::Progress::kMore) {
    if (stop()) return absl::CancelledError("stopped");
    TS_ASSIGN_OR_RETURN(progress, replay->Step(*day->rdb_, UINT64_MAX, kReplaySlice));
  }
  TS_RETURN_IF_ERROR(CheckEnd(log, day->rdb_->position().seq()));
  const RdbCounters& counters = day->rdb_->counters();
  if (counters.rows_refused > 0) {
    return ResourceExhausted("{}: {} does not hold {} of its rows", log,
                             tier == nullptr ? "memory" : "tier " + tier->Stats().name,
                             counters.rows_refused.load());
  }
  const auto leave_out = [&](std::string_view table, std::string why) {
    const auto known = std::ranges::find(schemas, table, &Schema::table);
    day->left_out_.push_back(
        {known == schemas.end() ? Schema{std::string(table), {}, 0} : *known, std::move(why)});
  };
  for (const auto& [table, rows] : day->rdb_->unknown_rows()) {
    if (rows == 0) continue;
    leave_out(table, fmt::format("{}: {} rows of a table {} that [tables] does not have", log, rows,
                                 table));
  }
  for (const auto& [table, refused] : day->rdb_->refused_upds()) {
    // Any table may lack rows of a message that cannot be read, and whose table does not exist.
    if (std::ranges::find(schemas, table, &Schema::table) == schemas.end()) {
      return InvalidArgument(
          "{}: {} of the messages {} to {} cannot be read: {}: nothing is written", log,
          refused.messages, refused.first_seq, refused.last_seq, refused.why);
    }
    leave_out(table,
              fmt::format("{}: {} rows of {} in {} of the messages {} to {} are not of its schema: "
                          "{}; a changed schema must be restored (docs/operating/repair.md)",
                          log, refused.rows, table, refused.messages, refused.first_seq,
                          refused.last_seq, refused.why));
  }
  if (day->rdb_->refused_upds().size() >= Rdb::kTablesToldMax) {
    return InvalidArgument("{}: rows of {} tables are not of their schemas: nothing is written",
                           log, day->rdb_->refused_upds().size());
  }
  return day;
}

std::string RowsNotInMemory(const std::string& log, std::span<const Snapshot> tables) {
  std::string text;
  const absl::StatusOr<tplog::TableRows> logged = tplog::CountTplogRows(log);
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
  for (const std::string& name : rdb_->TableNames()) {
    const bool is_left_out = std::ranges::any_of(
        left_out_, [&](const disk::LeftOutTable& each) { return each.schema.table == name; });
    if (!is_left_out) tables.push_back(*rdb_->FindTable(name));
  }
  return tables;
}

absl::Status LoggedDay::CheckWhole() const {
  if (left_out_.empty()) return absl::OkStatus();
  return InvalidArgument("{}", left_out_.front().why);
}

void LeaveOutUnwritable(const std::string& database, int32_t date, std::vector<Snapshot>& tables,
                        std::vector<disk::LeftOutTable>& left_out) {
  std::erase_if(tables, [&left_out](const Snapshot& table) {
    const absl::Status named = disk::CheckFileNames(table.schema());
    if (!named.ok()) left_out.push_back({table.schema(), std::string(Message(named))});
    return !named.ok();
  });
  std::vector<Schema> schemas;
  for (const Snapshot& table : tables) schemas.push_back(table.schema());
  const absl::StatusOr<std::vector<disk::SchemaConflict>> conflicts =
      disk::FindSchemaConflicts(database, schemas, date);
  if (!conflicts.ok()) {
    // Writing the day fails too, if that is in the way.
    LogWarn("schemas are not compared with the database database={} error=\"{}\"", database,
            Message(conflicts.status()));
    return;
  }
  for (const disk::SchemaConflict& conflict : *conflicts) {
    const auto table = std::ranges::find_if(
        tables, [&](const Snapshot& each) { return each.schema().table == conflict.table; });
    left_out.push_back({table->schema(), conflict.why});
    tables.erase(table);
  }
}

absl::StatusOr<bool> LacksTable(const std::string& partition, std::string_view table) {
  if (!disk::CheckFileNames({std::string(table), {}, 0}).ok()) return true;
  const std::string folder = fmt::format("{}/{}", partition, table);
  TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(folder));
  if (!is_there) return true;
  TS_ASSIGN_OR_RETURN(const std::optional<std::string> why, disk::WhyLeftOut(folder));
  return why.has_value();
}

absl::StatusOr<std::vector<Snapshot>> TablesToAdd(const std::string& partition,
                                                  std::span<const Snapshot> tables) {
  std::vector<Snapshot> missing;
  for (const Snapshot& table : tables) {
    TS_ASSIGN_OR_RETURN(const bool lacks, LacksTable(partition, table.schema().table));
    const std::string folder = fmt::format("{}/{}", partition, table.schema().table);
    TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(folder));
    if (lacks && (is_there || table.rows() > 0)) missing.push_back(table);
  }
  return missing;
}

std::string TextOf(std::span<const disk::LeftOutTable> left_out) {
  std::string text;
  for (const disk::LeftOutTable& table : left_out) {
    text += fmt::format("{}the partition has no table {}: {}", text.empty() ? "" : "; ",
                        table.schema.table, table.why);
  }
  return text;
}

void WarnOfChanges(int32_t date, const disk::WrittenPartition& written) {
  for (const disk::WrittenTable& table : written.tables) {
    if (table.stand_ins > 0) {
      LogWarn(
          "values that no database can store are in the partition as strings that begin with "
          "\"{}\" table={} date={} values={}",
          disk::kStandInPrefix, table.table, FormatDate(date), table.stand_ins);
    }
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
  TS_ASSIGN_OR_RETURN(const tplog::TableRows logged, tplog::CountTplogRows(log));
  tplog::TableRows known;
  std::string unknown;
  for (const auto& [table, rows] : logged) {
    const bool is_known = std::ranges::find(schemas, table, &Schema::table) != schemas.end();
    if (is_known) known.emplace(table, rows);
    if (rows == 0) continue;
    TS_ASSIGN_OR_RETURN(const bool lacks, LacksTable(partition, table));
    if (lacks && is_known) {
      return FailedPrecondition("{}: has no table {}, of which {} has {} rows", partition, table,
                                log, rows);
    }
    if (lacks) {
      unknown = fmt::format(
          "{}: has no table {}, of which {} has {} rows, and which [tables] does "
          "not have",
          partition, table, log, rows);
    }
  }
  if (!unknown.empty()) return InvalidArgument("{}", unknown);
  return CompareRows(partition, log, known, schemas);
}

absl::Status VerifyAgainstLog(const std::string& partition, const std::string& log,
                              std::span<const Schema> schemas) {
  TS_ASSIGN_OR_RETURN(const tplog::TplogReport report, tplog::CheckTplog(log));
  if (report.problem_count > 0) {
    return DataLoss("{}: byte {}: {}", log, report.problems.front().offset,
                    report.problems.front().text);
  }
  if (!report.odd.empty()) return DataLoss("{}", report.odd.front().text);
  tplog::TableRows logged = report.totals.rows;
  for (const Schema& schema : schemas) logged.try_emplace(schema.table, 0);
  return CompareRows(partition, log, logged, schemas);
}

}  // namespace tickstack::rdb
