#include "tickerplant/standby_log.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/directory.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "tickerplant/opened_log.h"
#include "tickerplant/upstream_rows.h"
#include "wire/protocol.h"
#include "wire/tplog_format.h"
#include "wire/tplog_state.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

absl::StatusOr<std::unique_ptr<StandbyLog>> StandbyLog::Open(StandbyLogOptions options) {
  std::unique_ptr<StandbyLog> standby(new StandbyLog(std::move(options)));
  TS_RETURN_IF_ERROR(standby->OpenNewest());
  return standby;
}

std::string StandbyLog::LogPath(int32_t date) const {
  return fmt::format("{}/{}{}", options_.directory, options_.log_name, FormatDate(date));
}

absl::StatusOr<std::optional<int32_t>> StandbyLog::NewestDay(int32_t before) const {
  const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(options_.directory);
  if (absl::IsNotFound(entries.status())) return std::nullopt;
  TS_RETURN_IF_ERROR(entries.status());
  std::optional<int32_t> newest;
  for (const DirectoryEntry& entry : *entries) {
    if (!entry.name.starts_with(options_.log_name)) continue;
    const std::optional<int32_t> date =
        ParseDate(std::string_view(entry.name).substr(options_.log_name.size()));
    if (date && *date < before) newest = std::max(newest.value_or(*date), *date);
  }
  return newest;
}

absl::Status StandbyLog::OpenNewest() {
  log_ = nullptr;
  blocks_ = nullptr;
  ends_.clear();
  TS_ASSIGN_OR_RETURN(const std::optional<int32_t> newest, NewestDay());
  if (!newest) return absl::OkStatus();
  return OpenDay(*newest, {});
}

absl::Status StandbyLog::OpenDay(int32_t date, NameMap<wire::TableRows> carried) {
  wire::TplogOptions log_options = options_.log;
  log_options.carried_progress = std::move(carried);
  TS_ASSIGN_OR_RETURN(std::unique_ptr<wire::TplogWriter> log,
                      wire::TplogWriter::Open(LogPath(date), std::move(log_options)));
  // This standby was about to begin the next day when it died. The leader says so again.
  if (log->state().ended) TS_RETURN_IF_ERROR(log->SetEnded(false));
  LogOpened(*log);
  TS_ASSIGN_OR_RETURN(blocks_, wire::TplogBlocks::Open(log->path()));
  log_ = std::move(log);
  date_ = date;
  ends_.clear();
  NoteEnd(blocks_->end());
  return ReadEnds();
}

// Reads the blocks that were appended since the last call.
absl::Status StandbyLog::ReadEnds() {
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<wire::IndexBlock> block, blocks_->Next());
    if (!block) return absl::OkStatus();
    NoteEnd(blocks_->end());
  }
}

void StandbyLog::NoteEnd(const wire::LogEnd& end) {
  ends_.push_back(end);
  if (ends_.size() > kEndsMax) ends_.pop_front();
}

ReplicaPlace StandbyLog::place() const {
  if (log_ == nullptr) return {kNullInt, 0};
  return {date_, log_->totals().messages};
}

absl::Status StandbyLog::Begin(int32_t date, NameMap<wire::TableRows> carried) {
  if (!has_log()) return OpenDay(date, std::move(carried));
  if (date_ != date || place().seq > 0) {
    return FailedPrecondition("{}: the standby has a log already", log_->path());
  }
  if (blocks_->carried() == carried) return absl::OkStatus();
  TS_RETURN_IF_ERROR(RemoveEmptyLog());
  return OpenDay(date, std::move(carried));
}

absl::Status StandbyLog::CutTo(uint64_t seq) {
  if (!has_log()) return FailedPrecondition("{}: there is no log", options_.directory);
  if (seq == place().seq) return absl::OkStatus();
  const std::string path = log_->path();
  const uint64_t messages = place().seq;
  const int32_t date = date_;
  TS_RETURN_IF_ERROR(log_->Close());
  log_ = nullptr;
  blocks_ = nullptr;
  TS_ASSIGN_OR_RETURN(const std::string kept, wire::CutTplog(path, seq));
  LogWarn(
      "messages that no leader logged are cut off path={} messages_from={} messages_to={} kept={}",
      path, messages, seq, kept);
  return OpenDay(date, {});
}

absl::Status StandbyLog::DropEmptyDay() {
  if (!has_log()) return FailedPrecondition("{}: there is no log", options_.directory);
  TS_ASSIGN_OR_RETURN(const std::optional<int32_t> before, NewestDay(date_));
  if (place().seq > 0 || !before) {
    return FailedPrecondition("{}: has messages of a day that the leader does not have",
                              log_->path());
  }
  TS_RETURN_IF_ERROR(RemoveEmptyLog());
  return OpenDay(*before, {});
}

absl::Status StandbyLog::RemoveEmptyLog() {
  const std::string path = log_->path();
  ended_logs_.Wait();
  TS_RETURN_IF_ERROR(log_->Close());
  log_ = nullptr;
  blocks_ = nullptr;
  // The log last: as long as it exists, this day is the newest.
  for (const std::string& file : {wire::TplogIndexPath(path), wire::TplogStatePath(path), path}) {
    if (std::remove(file.c_str()) != 0) return ErrnoStatus(errno, file);
  }
  LogInfo("log without messages is removed path={}", path);
  return SyncDirectory(options_.directory);
}

absl::Status StandbyLog::Append(const ReplicaBlock& block) {
  if (!has_log() || block.at != place()) {
    return FailedPrecondition("{}: message {} of {} does not follow message {} of {}",
                              protocol::kReplicaBlock, block.at.seq, FormatDate(block.at.date),
                              place().seq, has_log() ? FormatDate(date_) : "no day");
  }
  std::vector<wire::TplogBlock::Rows> rows;
  for (size_t i = 0; i < block.tables.size(); ++i) rows.push_back({block.tables[i], block.rows[i]});
  TS_RETURN_IF_ERROR(log_->Append({.segments = {&block.bytes, 1},
                                   .messages = block.messages,
                                   .time_ns = block.time_ns,
                                   .feed = block.feed,
                                   .rows = rows}));
  return ReadEnds();
}

absl::Status StandbyLog::EndDay(const ReplicaNextDay& day) {
  if (!has_log() || day.date != date_ || day.next <= day.date) {
    return FailedPrecondition("{}: {} cannot end for {} while the standby is in {}",
                              protocol::kReplicaNextDay, FormatDate(day.date), FormatDate(day.next),
                              has_log() ? FormatDate(date_) : "no day");
  }
  // As Tickerplant::RollTo.
  if (options_.log.fsync != wire::FsyncPolicy::kNone) TS_RETURN_IF_ERROR(log_->Sync());
  TS_RETURN_IF_ERROR(log_->SetEnded(true));
  std::unique_ptr<wire::TplogWriter> old = std::move(log_);
  NameMap<wire::TableRows> carried = old->totals().feed_rows;
  absl::erase_if(carried, [](const auto& feed) { return IsUpstreamName(feed.first); });
  TS_RETURN_IF_ERROR(OpenDay(day.next, std::move(carried)));
  LogInfo("day ended date={} next={}", FormatDate(day.date), FormatDate(day.next));
  ended_logs_.Close(std::move(old));
  return absl::OkStatus();
}

absl::Status StandbyLog::Close() {
  ended_logs_.Wait();
  if (!has_log()) return absl::OkStatus();
  return log_->Close();
}

}  // namespace tickstack::tickerplant
