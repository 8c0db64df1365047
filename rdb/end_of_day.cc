#include "rdb/end_of_day.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/thread_priority.h"
#include "disk/database_check.h"
#include "disk/left_out_table.h"
#include "disk/rows_of_date.h"
#include "disk/schema_check.h"
#include "disk/splayed_table.h"
#include "disk/table_revisions.h"
#include "tplog/tplog_state.h"
#include "wire/client.h"

namespace tickstack::rdb {
namespace {

// Returns whether another try would fail in the same way.
bool IsFinal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
}

void Add(std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

absl::Status EndOfDay::Stopper::Before(disk::StorageStep step, const std::string& path,
                                       size_t bytes) {
  // Removing still goes on: it clears away what was begun.
  if (owner_->stopping() && step != disk::StorageStep::kRemove) {
    return absl::CancelledError("the process ends");
  }
  disk::StorageObserver* const next = owner_->options_.observer;
  return next == nullptr ? absl::OkStatus() : next->Before(step, path, bytes);
}

EndOfDay::EndOfDay(EndOfDayOptions options, Rdb* rdb)
    : options_(std::move(options)),
      rdb_(rdb),
      workers_(static_cast<size_t>(std::max(options_.threads, 1) - 1),
               [nice = options_.nice] { SetThreadNice(nice); }),
      waits_(options_.waits),
      thread_([this] {
        SetThreadNice(options_.nice);
        Run();
      }) {}

EndOfDay::~EndOfDay() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_all();
  thread_.join();
}

// ---- the ingest thread

void EndOfDay::OnDayEnded(EndedDay day) {
  {
    const std::lock_guard lock(mutex_);
    ended_.push_back(std::move(day));
    idle_ = false;
  }
  changed_.notify_all();
}

// Returns nullopt for a log without a date: it does not say which logs are of the past.
std::optional<EndOfDay::Logs> EndOfDay::LogsOf(const std::string& log_path) const {
  const std::optional<DayLog> log = ParseDayLog(log_path);
  if (!log) return std::nullopt;
  const std::string name = log_path.substr(0, log_path.size() - FormatDate(log->date).size());
  const size_t slash = name.rfind('/');
  Logs logs;
  logs.folder = options_.log_folder.empty() ? DirectoryOf(log_path) : options_.log_folder;
  logs.name = slash == std::string::npos ? name : name.substr(slash + 1);
  logs.current = log->date;
  return logs;
}

// Returns whether only the logs have a day.
bool EndOfDay::HasNoPartition(int32_t date) const {
  const absl::StatusOr<std::string> there = disk::FindPartition(options_.database, date);
  return !there.ok() || there->empty();
}

// Returns the days that only their logs have, and the newest past day, since the hdb may not have
// loaded its partition. An earlier day may lack its partition because it was blocked.
std::vector<int32_t> EndOfDay::AwaitedDays(const Logs& logs) const {
  std::vector<int32_t> days;
  absl::StatusOr<std::vector<DayLog>> found = FindDayLogs(logs.folder, logs.name);
  if (!found.ok()) return days;
  std::erase_if(*found, [&](const DayLog& log) { return log.date >= logs.current; });
  for (const DayLog& log : *found) {
    if (log.date == found->back().date || HasNoPartition(log.date)) days.push_back(log.date);
  }
  return days;
}

void EndOfDay::OnOtherLog(const std::string& log_path) {
  const std::optional<Logs> logs = LogsOf(log_path);
  if (!logs) return;
  std::vector<int32_t> days = AwaitedDays(*logs);
  const std::lock_guard lock(mutex_);
  ++looks_;
  rdb_->SetAwaitedDays(std::move(days));
}

void EndOfDay::OnReplayDone(const std::string& log_path, std::vector<Schema> schemas) {
  std::optional<Logs> logs = LogsOf(log_path);
  if (!logs) return;
  logs->schemas = std::move(schemas);
  {
    const std::lock_guard lock(mutex_);
    logs->look = looks_;
    came_live_ = std::move(logs);
    idle_ = false;
  }
  changed_.notify_all();
}

void EndOfDay::Begin() {
  {
    const std::lock_guard lock(mutex_);
    waits_ = false;
  }
  changed_.notify_all();
}

bool EndOfDay::WaitUntilIdle(int64_t at_most_ns) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::nanoseconds(at_most_ns), [this] { return idle_; });
}

// ---- the thread that writes

void EndOfDay::Run() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping() || !waits_; });
  while (!stopping()) {
    if (came_live_) {
      // A log that waited for a table's schema may have it now.
      const bool changed = logs_ && logs_->schemas != came_live_->schemas;
      for (Blocked& each : blocked_) {
        if (changed) each.stamp.clear();
      }
      if (changed) next_blocked_ns_ = 0;
      logs_ = *std::exchange(came_live_, std::nullopt);
      look_for_logs_ = true;
    }
    lock.unlock();
    const int64_t next_ns = DoWhatIsDue();
    lock.lock();
    if (stopping()) return;
    if (came_live_ || (!ended_.empty() && next_ns == INT64_MAX)) continue;
    idle_ = next_ns == INT64_MAX;
    changed_.notify_all();
    const auto woken = [this] { return stopping() || came_live_ || !idle_; };
    const int64_t again_ns = std::min(blocked_.empty() ? INT64_MAX : next_blocked_ns_,
                                      hdb_may_be_behind_ ? next_hdb_ns_ : INT64_MAX);
    if (idle_ && again_ns == INT64_MAX) {
      changed_.wait(lock, woken);
    } else if (idle_) {
      const std::chrono::nanoseconds pause(std::max<int64_t>(again_ns - MonotonicNs(), 0));
      changed_.wait_for(lock, pause, woken);
    } else {
      // Days that end meanwhile wait too, because they need the same disk.
      const std::chrono::nanoseconds pause(std::max<int64_t>(next_ns - MonotonicNs(), 0));
      changed_.wait_for(lock, pause, [this] { return stopping() || came_live_.has_value(); });
    }
  }
}

std::optional<EndedDay> EndOfDay::FirstEnded() {
  const std::lock_guard lock(mutex_);
  if (ended_.empty()) return std::nullopt;
  return ended_.front();
}

int64_t EndOfDay::DoWhatIsDue() {
  while (!stopping()) {
    if (!blocked_.empty() && MonotonicNs() >= next_blocked_ns_) RetryBlocked();
    const std::optional<EndedDay> day = FirstEnded();
    const bool write = look_for_logs_ || day;
    if (write && MonotonicNs() >= next_write_ns_) {
      // Writes past logs first, so that days are written in order.
      const bool past = look_for_logs_;
      const std::string stamp = past ? "" : StampOf(day->date);
      const absl::Status status = past ? WritePastLogs() : WriteEndedDay(*day);
      // A person has to help if no other try would succeed. The day stays in memory until then, so
      // that queries about it are answered.
      if (!past && (absl::IsFailedPrecondition(status) || IsFinal(status))) {
        Block(day->date, day, stamp, status);
        const std::lock_guard lock(mutex_);
        ended_.pop_front();
        continue;
      }
      if (!status.ok()) {
        next_write_ns_ = MonotonicNs() + options_.retry_ns;
        if (!stopping())
          CountError("day not written yet, trying again", day ? day->date : kNullInt, status);
        continue;
      }
      if (past) {
        look_for_logs_ = false;
        continue;
      }
      hdb_is_behind_ = true;
      // Tables that are left out are written from the log, if there is one.
      const bool is_logged = logs_.has_value() && FileExists(LogOf(day->date).path).value_or(false);
      const bool stays = !lacks_.empty() && !is_logged;
      if (!lacks_.empty()) BlockTables(day->date, stays ? day : std::nullopt);
      if (!stays) written_.push_back(*day);
      const std::lock_guard lock(mutex_);
      ended_.pop_front();
      continue;
    }
    if (hdb_is_behind_ && MonotonicNs() >= next_hdb_ns_) {
      if (const absl::Status told = NotifyHdb(); !told.ok()) {
        CountError("hdb does not have the day yet, trying again",
                   written_.empty() ? kNullInt : written_.back().date, told);
        next_hdb_ns_ = MonotonicNs() + options_.retry_ns;
        continue;
      }
      hdb_is_behind_ = hdb_may_be_behind_ = false;
      for (const EndedDay& done : std::exchange(written_, {})) {
        rdb_->DropDay(done);
        LogInfo("day handed over date={} hdb={}", FormatDate(done.date),
                options_.hdb.empty() ? "none" : options_.hdb);
      }
      PublishDone();
      RemoveOldLogs();
      continue;
    }
    if (!write && !hdb_is_behind_) {
      if (hdb_may_be_behind_ && MonotonicNs() >= next_hdb_ns_) TellHdbOfEarlierDays();
      if (!hdb_may_be_behind_) EndAwaiting();
      return INT64_MAX;
    }
    return std::min(write ? next_write_ns_ : INT64_MAX, hdb_is_behind_ ? next_hdb_ns_ : INT64_MAX);
  }
  return INT64_MAX;
}

void EndOfDay::CountError(std::string_view what, int32_t date, const absl::Status& why) {
  Add(rdb_->counters().day_errors);
  LogError("{} date={} error=\"{}\"", what, date == kNullInt ? "past" : FormatDate(date),
           Message(why));
}

disk::PartitionWriterOptions EndOfDay::WriterOptions() {
  disk::PartitionWriterOptions options;
  options.database = options_.database;
  options.compression = options_.compression;
  options.workers = &workers_;
  options.memory_bytes = options_.memory_bytes;
  options.observer = &stopper_;
  return options;
}

absl::Status EndOfDay::Write(int32_t date, std::span<const Snapshot> tables,
                             std::span<const disk::LeftOutTable> left_out) {
  const int64_t begin_ns = MonotonicNs();
  disk::PartitionWriterOptions options = WriterOptions();
  options.left_out.assign(left_out.begin(), left_out.end());
  TS_ASSIGN_OR_RETURN(const disk::WrittenPartition written,
                      disk::WritePartition(options, date, tables));
  uint64_t rows = 0;
  for (const disk::WrittenTable& table : written.tables) rows += table.rows;
  WarnOfChanges(date, written);
  Add(rdb_->counters().days_written);
  LogInfo("day written date={} path={} tables={} rows={} bytes={} new_names={} ms={}",
          FormatDate(date), written.path, written.tables.size(), rows, written.bytes,
          written.new_names, (MonotonicNs() - begin_ns) / 1'000'000);
  return absl::OkStatus();
}

// Adds tables that the partition was written without.
absl::Status EndOfDay::AddToPartition(int32_t date, std::span<const Snapshot> tables) {
  if (tables.empty()) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const disk::WrittenPartition written,
                      disk::AddTables(WriterOptions(), date, tables));
  WarnOfChanges(date, written);
  for (const disk::WrittenTable& table : written.tables) {
    LogInfo("table added to its day date={} path={}/{} rows={}", FormatDate(date), written.path,
            table.table, table.rows);
  }
  return absl::OkStatus();
}

// Checks that an existing partition has this day, and adds the tables that it lacks;
// kFailedPrecondition if the rows of others are not those of the day.
absl::Status EndOfDay::CheckWritten(int32_t date, std::span<const Snapshot> tables,
                                    std::span<const disk::LeftOutTable> left_out,
                                    std::string_view source) {
  TS_ASSIGN_OR_RETURN(const std::string path, disk::FindPartition(options_.database, date));
  if (path.empty()) return Unavailable("{}: its partition went away", FormatDate(date));
  TS_ASSIGN_OR_RETURN(const std::vector<Snapshot> missing, TablesToAdd(path, tables));
  for (const Snapshot& table : tables) {
    const std::string& name = table.schema().table;
    const bool is_missing = std::ranges::any_of(
        missing, [&](const Snapshot& each) { return each.schema().table == name; });
    if (is_missing) continue;
    const std::string folder = fmt::format("{}/{}", path, name);
    const size_t expected = disk::RowsOfDate(table, date).rows();
    const absl::StatusOr<std::shared_ptr<const disk::SplayedTable>> stored =
        disk::SplayedTable::Open(folder);
    if (absl::IsNotFound(stored.status()) && expected == 0) continue;
    absl::StatusOr<uint64_t> rows =
        stored.ok() ? (*stored)->Rows() : absl::StatusOr<uint64_t>(stored.status());
    if (rows.ok()) rows = disk::RowsBeforeRevisions(folder, *rows);
    if (rows.ok() && *rows == expected) continue;
    return MismatchError(FailedPrecondition("{}: written before, {}, expected {} rows", folder,
                                            rows.ok() ? fmt::format("with {} rows", *rows)
                                                      : std::string(Message(rows.status())),
                                            expected),
                         source);
  }
  TS_RETURN_IF_ERROR(AddToPartition(date, missing));
  // Somebody may have written them otherwise.
  std::vector<disk::LeftOutTable> lacking;
  for (const disk::LeftOutTable& each : left_out) {
    TS_ASSIGN_OR_RETURN(const bool lacks, LacksTable(path, each.schema.table));
    if (lacks) lacking.push_back(each);
  }
  lacks_ = TextOf(lacking);
  return SyncDirectory(DirectoryOf(path));  // The rename may have been the last that succeeded.
}

absl::Status EndOfDay::WriteTables(const EndedDay& day) {
  std::vector<Snapshot> tables;
  for (const std::shared_ptr<const Table>& table : day.tables) {
    tables.push_back(table->TakeSnapshot());
  }
  return WriteOrCheck(day.date, std::move(tables), {}, "memory");
}

// Writes the tables, or checks that they are written; kFailedPrecondition if there is a partition
// with other rows. lacks_ then says which tables the partition has not.
absl::Status EndOfDay::WriteOrCheck(int32_t date, std::vector<Snapshot> tables,
                                    std::vector<disk::LeftOutTable> left_out,
                                    std::string_view source) {
  LeaveOutUnwritable(options_.database, date, tables, left_out);
  lacks_ = TextOf(left_out);
  const absl::Status written = Write(date, tables, left_out);
  if (!absl::IsFailedPrecondition(written)) return written;
  return CheckWritten(date, tables, left_out, source);
}

absl::Status EndOfDay::WriteEndedDay(const EndedDay& day) {
  absl::Status written = day.complete ? WriteTables(day) : WriteIncompleteDay(day);
  // Damaged memory, for example of a persistent tier: the log may have what it had.
  if (day.complete && absl::IsDataLoss(written) && logs_ && WriteLog(LogOf(day.date)).ok()) {
    LogWarn("day written from its log, memory is damaged date={} error=\"{}\"",
            FormatDate(day.date), Message(written));
    written = absl::OkStatus();
  }
  const bool over = written.ok() || absl::IsFailedPrecondition(written);
  if (over && logs_) logs_->current = std::max(logs_->current, day.date + 1);
  if (written.ok() && lacks_.empty()) newest_ = std::max(newest_.value_or(day.date), day.date);
  return written;
}

// Writes a day of which memory lacks rows, from its log. If the log cannot be replayed, returns
// kFailedPrecondition with what is missing and what to do: an incomplete day is never written as a
// whole one.
absl::Status EndOfDay::WriteIncompleteDay(const EndedDay& day) {
  if (!logs_) {
    return FailedPrecondition(
        "memory lacks rows of the day, and where its log is is not known: the name of the "
        "tickerplant's log ends with no date");
  }
  const DayLog log = LogOf(day.date);
  absl::Status written = WriteLog(log);
  if (!absl::IsNotFound(written) && !absl::IsDataLoss(written)) return written;
  return WaitsForLog(written, day.tables, log.path);
}

absl::Status EndOfDay::MismatchError(const absl::Status& why, std::string_view source) const {
  return FailedPrecondition(
      "day is not what its partition has: move that away, and it is written from {} within {} s: "
      "{}",
      source, static_cast<double>(options_.retry_ns) / kNsPerSecond, Message(why));
}

// Returns the error for a day that waits for its log, with what the tables, if there are any, lack
// of it.
absl::Status EndOfDay::WaitsForLog(const absl::Status& why,
                                   std::span<const std::shared_ptr<const Table>> tables,
                                   const std::string& log) const {
  std::vector<Snapshot> snapshots;
  for (const std::shared_ptr<const Table>& table : tables) {
    snapshots.push_back(table->TakeSnapshot());
  }
  return FailedPrecondition(
      "its log cannot be replayed: {}: the day is written within {} s after the log is mended "
      "(`tickstack log repair`, docs/operating/repair.md){}",
      Message(why), static_cast<double>(options_.retry_ns) / kNsPerSecond,
      RowsNotInMemory(log, snapshots));
}

DayLog EndOfDay::LogOf(int32_t date) const {
  return {date, fmt::format("{}/{}{}", logs_->folder, logs_->name, FormatDate(date))};
}

absl::Status EndOfDay::WriteLog(const DayLog& log) {
  LogInfo("day from its log date={} log={}", FormatDate(log.date), log.path);
  TS_ASSIGN_OR_RETURN(
      const std::unique_ptr<LoggedDay> day,
      LoggedDay::Replay(
          log.path, logs_->schemas, [this] { return stopping(); }, rdb_->placement().OlderTier()));
  const absl::Status written = WriteOrCheck(log.date, day->Tables(), day->left_out(), "its log");
  // Damage of the database, such as of its `sym`: mending the log would not help.
  return absl::IsDataLoss(written) ? Internal("{}", Message(written)) : written;
}

// Compares a partition that another process wrote, or this one long ago, with the log of that day.
void EndOfDay::CompareWithLog(const std::string& partition, const DayLog& log) {
  const std::string stamp = StampOf(log.date);
  if (const absl::Status same = CompareRowsWithLog(partition, log.path, logs_->schemas);
      !same.ok()) {
    if (absl::IsFailedPrecondition(same)) return AddFromLog(log);
    unverified_.insert(log.date);
    if (absl::IsInvalidArgument(same)) return Block(log.date, std::nullopt, stamp, same);
    if (absl::IsInternal(same)) return Postpone(log.date, same);
    return Block(log.date, std::nullopt, stamp, MismatchError(same, "its log"));
  }
  compared_.insert(log.date);
  newest_ = std::max(newest_.value_or(log.date), log.date);
  hdb_may_be_behind_ = true;
}

// Adds the tables of a past day that its partition was written without.
void EndOfDay::AddFromLog(const DayLog& log) {
  const std::string stamp = StampOf(log.date);
  const absl::Status added = WriteLog(log);
  if (added.ok() && lacks_.empty()) {
    compared_.insert(log.date);
    newest_ = std::max(newest_.value_or(log.date), log.date);
    hdb_is_behind_ = true;
    return;
  }
  unverified_.insert(log.date);
  if (added.ok()) {
    hdb_is_behind_ = true;  // It may have got some of them.
    BlockTables(log.date, std::nullopt);
  } else if (absl::IsDataLoss(added)) {
    Block(log.date, std::nullopt, stamp, WaitsForLog(added, {}, log.path));
  } else if (absl::IsFailedPrecondition(added) || IsFinal(added)) {
    Block(log.date, std::nullopt, stamp, added);
  } else {
    Postpone(log.date, added);
  }
}

// Returns a text that changes when another folder takes the partition's place, or when the day's
// log or the list of segments is replaced.
std::string EndOfDay::StampOf(int32_t date, bool by_tables) const {
  std::string stamp;
  const auto add = [&stamp](const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return;
    stamp += fmt::format("{} {} {} {}.{}\n", path, status.st_ino, status.st_size,
                         status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
  };
  add(options_.database + "/par.txt");
  // Its columns' types may be why tables are missing.
  if (by_tables) add(disk::NewestPartitionBut(options_.database, date));
  const absl::StatusOr<std::string> partition = disk::FindPartition(options_.database, date);
  if (partition.ok() && !partition->empty()) add(*partition);
  if (logs_) {
    const std::string log = LogOf(date).path;
    add(log);
    add(log + ".idx");
  }
  return stamp;
}

void EndOfDay::Block(int32_t date, std::optional<EndedDay> day, std::string stamp,
                     const absl::Status& why) {
  CountError("day not written, operator action required", date, why);
  AddBlocked({date, std::move(day), std::move(stamp), std::string(Message(why)), false});
}

// The partition is written without the tables that lacks_ names.
void EndOfDay::BlockTables(int32_t date, std::optional<EndedDay> day) {
  CountError("day written without some of its tables, operator action required", date,
             InvalidArgument("{}", lacks_));
  AddBlocked({date, std::move(day), StampOf(date, /*by_tables=*/true), lacks_, true});
}

// Leaves a past day for the next retry after a system call failed, or because there is no room for
// it. Does not hold up other days: a bad sector in one old log must not keep all later days in
// memory.
void EndOfDay::Postpone(int32_t date, const absl::Status& why) {
  CountError("past day not written yet, trying again", date, why);
  AddBlocked({date, std::nullopt, /*stamp=*/"", std::string(Message(why)), false});
}

void EndOfDay::AddBlocked(Blocked blocked) {
  blocked.why = fmt::format("{}: {}", FormatDate(blocked.date), blocked.why);
  blocked_.push_back(std::move(blocked));
  next_blocked_ns_ = MonotonicNs() + options_.retry_ns;
  PublishBlocked();
}

bool EndOfDay::IsBlocked(int32_t date) const {
  return std::ranges::any_of(blocked_, [date](const Blocked& each) { return each.date == date; });
}

void EndOfDay::PublishBlocked() {
  const Blocked* newest = nullptr;
  for (const std::vector<Blocked>* days : {&blocked_, &retried_}) {
    for (const Blocked& each : *days) {
      if (newest == nullptr || each.date > newest->date) newest = &each;
    }
  }
  if (newest == nullptr) {
    rdb_->SetBlockedDay(std::nullopt);
  } else {
    rdb_->SetBlockedDay(BlockedDay{newest->date, newest->why});
  }
}

void EndOfDay::PublishDone() {
  if (!newest_) return;
  rdb_->counters().day_done.store(NumberOfDate(*newest_), std::memory_order_relaxed);
}

// Tries the blocked days again if their partition or log has changed since.
void EndOfDay::RetryBlocked() {
  next_blocked_ns_ = MonotonicNs() + options_.retry_ns;
  for (Blocked& each : std::exchange(blocked_, {})) {
    std::string stamp = StampOf(each.date, each.by_tables);
    if (stopping() || stamp == each.stamp) {
      blocked_.push_back(std::move(each));
    } else if (!each.day) {
      unverified_.erase(each.date);
      look_for_logs_ = true;
      retried_.push_back(std::move(each));
    } else if (const absl::Status written = WriteEndedDay(*each.day); written.ok()) {
      hdb_is_behind_ = true;
      if (lacks_.empty()) {
        written_.push_back(*std::move(each.day));
      } else {
        BlockTables(each.date, std::move(each.day));
      }
    } else if (absl::IsFailedPrecondition(written) || IsFinal(written)) {
      Block(each.date, std::move(each.day), std::move(stamp), written);
    } else {
      if (!stopping()) CountError("day not written yet, trying again", each.date, written);
      blocked_.push_back(std::move(each));
    }
  }
  PublishBlocked();
}

// Writes the days that ended while this process, or all of the stack, did not run.
absl::Status EndOfDay::WritePastLogs() {
  const absl::StatusOr<std::vector<DayLog>> logs = FindDayLogs(logs_->folder, logs_->name);
  if (!logs.ok()) {
    LogWarn("past days cannot be looked for folder={} error=\"{}\"", logs_->folder,
            Message(logs.status()));
    for (Blocked& each : std::exchange(retried_, {})) {
      each.stamp.clear();
      blocked_.push_back(std::move(each));
    }
    return absl::OkStatus();
  }
  const std::optional<EndedDay> ended = FirstEnded();
  const int32_t end_date = std::min(logs_->current, ended ? ended->date : logs_->current);
  for (const DayLog& log : *logs) {
    if (stopping()) return absl::CancelledError("the process ends");
    if (log.date >= end_date || compared_.contains(log.date) || IsBlocked(log.date)) {
      continue;
    }
    const std::string stamp = StampOf(log.date);
    const absl::StatusOr<std::string> there = disk::FindPartition(options_.database, log.date);
    if (IsFinal(there.status())) {
      Block(log.date, std::nullopt, stamp, there.status());
      continue;
    }
    TS_RETURN_IF_ERROR(there.status());
    if (!there->empty()) {
      CompareWithLog(*there, log);
      continue;
    }
    const absl::Status written = WriteLog(log);
    if (written.ok() && !lacks_.empty()) {
      hdb_is_behind_ = true;
      unverified_.insert(log.date);
      BlockTables(log.date, std::nullopt);
    } else if (written.ok()) {
      hdb_is_behind_ = true;
      compared_.insert(log.date);
      newest_ = std::max(newest_.value_or(log.date), log.date);
    } else if (absl::IsDataLoss(written)) {
      Block(log.date, std::nullopt, stamp, WaitsForLog(written, {}, log.path));
    } else if (IsFinal(written)) {
      Block(log.date, std::nullopt, stamp, written);
    } else if (absl::IsInternal(written) || absl::IsResourceExhausted(written)) {
      Postpone(log.date, written);
    } else {
      return Annotate(written, FormatDate(log.date));
    }
  }
  retried_.clear();
  PublishBlocked();
  if (hdb_may_be_behind_ && !hdb_is_behind_) TellHdbOfEarlierDays();
  if (!hdb_is_behind_) PublishDone();
  RemoveOldLogs();
  return absl::OkStatus();
}

// An earlier process may have died after it wrote a day and before it notified the hdb. An hdb that
// is not running loads the day when it starts. One that does not answer is told again.
void EndOfDay::TellHdbOfEarlierDays() {
  const absl::Status told = NotifyHdb();
  hdb_may_be_behind_ = !told.ok();
  next_hdb_ns_ = told.ok() ? 0 : MonotonicNs() + options_.retry_ns;
  if (std::exchange(hdb_is_silent_, !told.ok()) || told.ok()) return;
  LogInfo("hdb not told yet of days that were written before error=\"{}\"", Message(told));
}

// The hdb has all days that could be written. Blocked ones that are not in memory stay awaited, as
// long as nobody has them: they are not days without rows.
void EndOfDay::EndAwaiting() {
  std::vector<int32_t> days;
  for (const Blocked& each : blocked_) {
    if (!each.day && HasNoPartition(each.date)) days.push_back(each.date);
  }
  const std::lock_guard lock(mutex_);
  if (logs_ && logs_->look == looks_) rdb_->SetAwaitedDays(std::move(days));
}

absl::Status EndOfDay::NotifyHdb() const {
  if (options_.hdb.empty()) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const wire::Address address, wire::ParseAddress(options_.hdb));
  wire::ClientOptions client;
  client.user = "rdb";
  client.is_link = true;
  const std::chrono::milliseconds timeout(options_.hdb_timeout_ns / 1'000'000);
  return Annotate(wire::Ask(address, Value::String("\\l ."), timeout, client).status(),
                  options_.hdb);
}

absl::Status EndOfDay::VerifyPartition(const std::string& partition, const DayLog& log) {
  TS_RETURN_IF_ERROR(VerifyAgainstLog(partition, log.path, logs_->schemas));
  // Checking reads all of the partition, so a day that ends meanwhile comes first.
  const auto stop = [this] { return stopping() || FirstEnded().has_value(); };
  TS_ASSIGN_OR_RETURN(const disk::DatabaseCheck check,
                      disk::CheckPartition(options_.database, partition, workers_, stop));
  if (check.is_sound()) return absl::OkStatus();
  const disk::Finding& first = check.findings.front();
  return DataLoss("{}{}: {}, one of {} findings", first.path,
                  first.byte ? fmt::format(": byte {}", *first.byte) : "", first.what,
                  check.findings.size() + check.findings_left_off);
}

void EndOfDay::RemoveOldLogs() {
  if (options_.keep_logs_days < 0 || !logs_) return;
  const absl::StatusOr<std::vector<DayLog>> logs = FindDayLogs(logs_->folder, logs_->name);
  if (!logs.ok()) return;
  for (const DayLog& log : *logs) {
    if (stopping() || log.date >= logs_->current - options_.keep_logs_days) return;
    if (unverified_.contains(log.date) || IsBlocked(log.date)) continue;
    const absl::StatusOr<std::string> partition = disk::FindPartition(options_.database, log.date);
    if (!partition.ok() || partition->empty()) continue;
    const disk::Storage storage(&stopper_);
    absl::Status status = VerifyPartition(*partition, log);
    if (absl::IsCancelled(status)) return;  // Handing over the waiting day leads here again.
    if (status.ok()) status = storage.Remove(log.path);
    if (status.ok()) status = storage.Remove(log.path + ".idx");
    if (status.ok()) status = storage.Remove(tplog::TplogStatePath(log.path));
    if (status.ok()) {
      LogInfo("log removed, its partition is sound and has all of it path={}", log.path);
    } else {
      CountError("log not removed", log.date, status);
      unverified_.insert(log.date);
    }
  }
}

}  // namespace tickstack::rdb
