// The part of the state that chooses, repairs and opens the day's log.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/feed_owner.h"
#include "tickerplant/opened_log.h"
#include "tickerplant/tickerplant.h"
#include "tplog/tplog_format.h"

namespace tickstack::tickerplant {
namespace {

constexpr int kTries = 3;  // To open the log of a past day.

}  // namespace

absl::StatusOr<int32_t> Tickerplant::DayToOpen() const {
  const int32_t clock_date = day_.DateAt(clock_->NowNs());
  int32_t today = clock_date;
  if (!day_.is_fixed()) {
    // A day that was ended by request before its time stays ended: the newest log is the current
    // one.
    TS_ASSIGN_OR_RETURN(const std::optional<int32_t> newest, NewestLog());
    today = std::max(today, newest.value_or(INT32_MIN));
  }
  TS_ASSIGN_OR_RETURN(today, FirstDayNotEnded(today));
  // The members of a cluster may have other clocks, and one of them has begun that day.
  const bool may_be_newer = day_.is_fixed() || options_.is_member;
  if (!may_be_newer && today > clock_date + 1) {
    return FailedPrecondition(
        "{}: newer than the clock, which says {}: set the clock, or move the log away",
        LogPath(today), FormatDate(clock_date));
  }
  return today;
}

absl::StatusOr<std::string> Tickerplant::LogToOpen(const TickerplantOptions& options, DayClock day,
                                                   const Clock* clock) {
  const Tickerplant tickerplant(options, day, clock);
  TS_ASSIGN_OR_RETURN(const int32_t today, tickerplant.DayToOpen());
  return tickerplant.LogPath(today);
}

std::string Tickerplant::LogPath(int32_t date) const {
  return fmt::format("{}/{}{}", options_.log_directory, options_.log_name, FormatDate(date));
}

// Returns the date of the newest log before `before`; nullopt if there is none. An error if the
// directory cannot be read: without its logs, feeds would number their rows from 0 again.
absl::StatusOr<std::optional<int32_t>> Tickerplant::NewestLog(int32_t before) const {
  TS_ASSIGN_OR_RETURN(std::vector<int32_t> days,
                      DaysOfLogsIn(options_.log_directory, options_.log_name));
  std::erase_if(days, [before](int32_t day) { return day >= before; });
  if (days.empty()) return std::nullopt;
  return std::ranges::max(days);
}

absl::StatusOr<std::optional<Tickerplant::NewestDay>> Tickerplant::FindNewestDay(
    const TickerplantOptions& options, const DayClock& day, const Clock* clock) {
  const Tickerplant tickerplant(options, day, clock);
  TS_ASSIGN_OR_RETURN(const std::optional<int32_t> newest, tickerplant.NewestLog());
  if (!newest) return std::nullopt;
  TS_ASSIGN_OR_RETURN(const tplog::TplogState state,
                      tplog::ReadTplogState(tickerplant.LogPath(*newest)));
  return NewestDay{*newest, state.ended};
}

absl::StatusOr<std::vector<int32_t>> Tickerplant::DaysWithLogs() const {
  TS_ASSIGN_OR_RETURN(std::vector<int32_t> days,
                      DaysOfLogsIn(options_.log_directory, options_.log_name));
  std::erase_if(days, [this](int32_t day) { return day >= date_; });
  days.push_back(date_);
  std::ranges::sort(days);
  return days;
}

absl::StatusOr<Tickerplant::DayLog> Tickerplant::LogOf(int32_t date) const {
  const std::string path = LogPath(date);
  if (date == date_) return DayLog{date, {path, logged_seq()}};
  bool exists = false;
  if (date < date_) {
    TS_ASSIGN_OR_RETURN(exists, FileExists(path));
  }
  if (!exists) return NotFound("log: there is no log of {}", FormatDate(date));
  if (ended_log_ && ended_log_->path == path) return DayLog{date, *ended_log_};
  return DayLog{date, {path, std::nullopt}};
}

// Returns the first day whose log accepts rows: a day that ended here stays ended, whatever the
// clock or the configuration says.
absl::StatusOr<int32_t> Tickerplant::FirstDayNotEnded(int32_t date) const {
  while (true) {
    const absl::StatusOr<tplog::TplogState> state = tplog::ReadTplogState(LogPath(date));
    if (!state.ok() && !absl::IsDataLoss(state.status())) return state.status();
    // An illegible state: TplogWriter::Open sets it aside.
    if (!state.ok() || !state->ended) return date;
    ++date;
  }
}

// Opens the newest log before `date` if its last writer died before it closed it, for example in a
// power cut soon after midnight: that repairs its tail. Today's log does not depend on it. Then
// makes it durable in the background. Subscribers that lack some of its messages can read them, as
// after an end of day, unless it could not be repaired.
//
// Feeds number their rows across days, so a tickerplant that was down over midnight takes the
// numbers from that log; returns them if today's log does not have them yet. A log without its
// whole header may lack the index that keeps these numbers: its creator was killed between the two
// (tplog_recovery.h).
//
// An error of the disk may pass, so it is tried again. If it does not, today's log continues if it
// has messages. Without any, its numbers may be those of an attempt that failed, so this fails.
absl::StatusOr<NameMap<tplog::TableRows>> Tickerplant::SettleLogBefore(int32_t date) {
  const absl::StatusOr<File> today = File::OpenForReading(LogPath(date));
  if (!today.ok() && !absl::IsNotFound(today.status())) return today.status();
  uint64_t bytes = 0;
  if (today.ok()) {
    TS_ASSIGN_OR_RETURN(bytes, today->Bytes());
  }
  // A log without messages may be of an attempt to begin the day that failed, after which the log
  // before it continued.
  const bool has_header = bytes >= tplog::kTplogHeaderBytes;
  const bool is_begun = has_header && bytes > tplog::kTplogHeaderBytes;
  TS_ASSIGN_OR_RETURN(const std::optional<int32_t> newest, NewestLog(date));
  if (!newest) return NameMap<tplog::TableRows>();
  const std::string path = LogPath(*newest);
  const absl::StatusOr<tplog::TplogState> state = tplog::ReadTplogState(path);
  const bool was_closed = state.ok() && !state->open;
  if (is_begun && was_closed) {
    ended_log_ = {path, std::nullopt};
    return NameMap<tplog::TableRows>();
  }
  absl::StatusOr<std::unique_ptr<tplog::TplogWriter>> log =
      tplog::TplogWriter::Open(path, options_.log);
  for (int i = 1; i < kTries && !log.ok() && !absl::IsDataLoss(log.status()); ++i) {
    LogWarn("log of a past day not opened, trying again path={} error=\"{}\"", path,
            Message(log.status()));
    log = tplog::TplogWriter::Open(path, options_.log);
  }
  if (!log.ok()) {
    const bool may_pass = !absl::IsDataLoss(log.status());
    if (!has_header || (!is_begun && may_pass)) return log.status();
    LogError("log of a past day not repaired path={} error=\"{}\"", path, Message(log.status()));
    return NameMap<tplog::TableRows>();
  }
  if (!was_closed) LogOpened(**log);
  NameMap<tplog::TableRows> progress;
  if (!is_begun) progress = (*log)->totals().feed_rows;
  ended_log_ = {path, (*log)->totals().messages};
  ended_logs_.Close(*std::move(log));
  return progress;
}

absl::Status Tickerplant::OpenLog(int32_t date, NameMap<tplog::TableRows> carried) {
  tplog::TplogOptions log_options = options_.log;
  log_options.carried_progress = std::move(carried);
  TS_ASSIGN_OR_RETURN(std::unique_ptr<tplog::TplogWriter> log,
                      tplog::TplogWriter::Open(LogPath(date), std::move(log_options)));
  UseLog(date, std::move(log));
  return absl::OkStatus();
}

void Tickerplant::UseLog(int32_t date, std::unique_ptr<tplog::TplogWriter> log) {
  log_ = std::move(log);
  date_ = date;
  day_end_ns_ = day_.EndOf(date);
  numbered_feeds_.clear();
  for (const auto& [logged_as, tables] : log_->totals().feed_rows) {
    const FeedOwner owner = SplitOwner(logged_as);
    NumberedFeed& numbered = numbered_feeds_[owner.name];
    for (const auto& [table, rows] : tables) numbered.rows[table] += rows;
    const bool is_newest = numbered.names.empty() || owner.number > numbered.owner_number;
    numbered.names.push_back(logged_as);
    if (!is_newest) continue;
    numbered.logged_as = logged_as;
    numbered.owner_number = owner.number;
    numbered.user = owner.user;
  }
  publication_.set_published_seq(log_->totals().messages);
  published_bytes_ = log_->totals().log_bytes;
  LogOpened(*log_);
}

}  // namespace tickstack::tickerplant
