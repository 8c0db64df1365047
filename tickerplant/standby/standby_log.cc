#include "tickerplant/standby/standby_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/directory.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "tickerplant/chained/upstream_rows.h"
#include "tickerplant/opened_log.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_state.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

namespace {

constexpr size_t kMarkBytes = 40;  // Of NAME.logged.
constexpr std::string_view kNotCompared = ".not-compared";

}  // namespace

absl::StatusOr<std::unique_ptr<StandbyLog>> StandbyLog::Open(StandbyLogOptions options) {
  std::unique_ptr<StandbyLog> standby(new StandbyLog(std::move(options)));
  const std::string marker = standby->may_lack_rows_path();
  TS_RETURN_IF_ERROR(CreateDirectories(standby->options_.directory));
  TS_ASSIGN_OR_RETURN(const bool is_marked, FileExists(marker));
  standby->may_lack_rows_ = is_marked;
  // Before a log is created, because after that nothing shows that it is new.
  TS_ASSIGN_OR_RETURN(const bool is_new, standby->IsNew());
  if (is_new) TS_RETURN_IF_ERROR(standby->MarkMayLackRows());
  const absl::Status opened = standby->OpenNewest();
  // Another process has the log, so it was not created.
  if (absl::IsUnavailable(opened) && is_new && !is_marked) std::remove(marker.c_str());
  TS_RETURN_IF_ERROR(opened);
  TS_RETURN_IF_ERROR(standby->OpenMark());
  // A place without messages is one where a day was begun, and may be that of an empty day that was
  // dropped.
  const bool ends_early = standby->logged_.seq > 0 && standby->place() < standby->logged_;
  const bool is_created = !standby->has_log() || standby->log_->recovery().created;
  if (ends_early || is_created) TS_RETURN_IF_ERROR(standby->MarkMayLackRows());
  return standby;
}

// True if there is no log yet, or one that died before it had its header.
absl::StatusOr<bool> StandbyLog::IsNew() const {
  TS_ASSIGN_OR_RETURN(const std::optional<int32_t> newest, NewestDay());
  if (!newest) return true;
  std::error_code absent;
  const uintmax_t bytes = std::filesystem::file_size(LogPath(*newest), absent);
  if (!absent && bytes >= tplog::kTplogHeaderBytes) return false;
  TS_ASSIGN_OR_RETURN(const std::optional<int32_t> before, NewestDay(*newest));
  return !before.has_value();
}

std::string StandbyLog::may_lack_rows_path() const {
  return fmt::format("{}/{}.may-lack-rows", options_.directory, options_.log_name);
}

// Reads the place that NAME.logged says; there is none if the file has another form.
absl::Status StandbyLog::OpenMark() {
  const std::string path = fmt::format("{}/{}.logged", options_.directory, options_.log_name);
  TS_ASSIGN_OR_RETURN(mark_, File::OpenOrCreate(path));
  std::array<char, kMarkBytes> text{};
  TS_ASSIGN_OR_RETURN(const size_t bytes, mark_.ReadAt(0, std::as_writable_bytes(std::span(text))));
  const std::string_view line(text.data(), bytes);
  const size_t space = line.find(' ');
  if (bytes != kMarkBytes || space == std::string_view::npos) return absl::OkStatus();
  const std::optional<int32_t> date = ParseDate(line.substr(0, space));
  uint64_t seq = 0;
  const std::string_view number = line.substr(space + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), seq);
  if (date && error == std::errc() && *end == ' ') logged_ = {*date, seq};
  return absl::OkStatus();
}

absl::Status StandbyLog::SetLogged(ReplicaPlace place) {
  if (place == logged_) return absl::OkStatus();
  logged_ = place;
  const std::string date = place.date == kNullInt ? "none" : FormatDate(place.date);
  std::string line = fmt::format("{} {}", date, place.seq);
  line.resize(kMarkBytes - 1, ' ');  // One write that changes all of the file.
  line += '\n';
  return mark_.WriteAt(0, AsBytes(line));
}

// Marks this standby while a log is opened that may not have everything that was appended to it.
tplog::TplogOptions StandbyLog::LogOptions() {
  tplog::TplogOptions options = options_.log;
  options.repaired = [this](const tplog::TplogRecovery& recovery) {
    // With kBatch, a block is durable before it is acknowledged.
    const bool may_have_lost_tail =
        recovery.power_cut && options_.log.fsync != tplog::FsyncPolicy::kBatch;
    const bool may_lack_rows =
        recovery.sync_failed || recovery.messages_damaged > 0 || may_have_lost_tail;
    return may_lack_rows ? MarkMayLackRows() : absl::OkStatus();
  };
  return options;
}

std::string StandbyLog::LogPath(int32_t date) const {
  return fmt::format("{}/{}{}", options_.directory, options_.log_name, FormatDate(date));
}

absl::StatusOr<std::optional<int32_t>> StandbyLog::NewestDay(int32_t before) const {
  TS_ASSIGN_OR_RETURN(std::vector<int32_t> days,
                      DaysOfLogsIn(options_.directory, options_.log_name));
  std::erase_if(days, [before](int32_t day) { return day >= before; });
  if (days.empty()) return std::nullopt;
  return std::ranges::max(days);
}

absl::Status StandbyLog::OpenNewest() {
  log_ = nullptr;
  blocks_ = nullptr;
  ends_.clear();
  TS_ASSIGN_OR_RETURN(const std::optional<int32_t> newest, NewestDay());
  if (!newest) return absl::OkStatus();
  TS_RETURN_IF_ERROR(OpenDay(*newest, {}));
  CloseLogBefore();
  // Its creator died before it had written the rows that the day begins with. Nobody was told that
  // this member has begun it.
  const bool is_begun = !log_->recovery().created && !log_->recovery().index_created;
  if (is_begun || place().seq > 0 || !HasEarlierLog()) return absl::OkStatus();
  return DropEmptyDay();
}

// Repairs the log before the newest one, and makes it durable in the background, if its writer died
// before it had done so.
void StandbyLog::CloseLogBefore() {
  const absl::StatusOr<std::optional<int32_t>> before = NewestDay(date_);
  if (!before.ok() || !before->has_value()) return;
  const std::string path = LogPath(**before);
  const absl::StatusOr<tplog::TplogState> state = tplog::ReadTplogState(path);
  if (state.ok() && !state->open) return;
  absl::StatusOr<std::unique_ptr<tplog::TplogWriter>> log =
      tplog::TplogWriter::Open(path, LogOptions());
  if (!log.ok()) {
    LogError("log of a past day not repaired path={} error=\"{}\"", path, Message(log.status()));
    return;
  }
  LogOpened(**log);
  ended_logs_.Close(*std::move(log));
}

bool StandbyLog::HasEarlierLog() const {
  const absl::StatusOr<std::optional<int32_t>> before = NewestDay(date_);
  return before.ok() && before->has_value();
}

absl::Status StandbyLog::OpenDay(int32_t date, NameMap<tplog::TableRows> carried) {
  tplog::TplogOptions log_options = LogOptions();
  log_options.carried_progress = std::move(carried);
  TS_ASSIGN_OR_RETURN(std::unique_ptr<tplog::TplogWriter> log,
                      tplog::TplogWriter::Open(LogPath(date), std::move(log_options)));
  // This standby was about to begin the next day when it died. The leader says so again.
  if (log->state().ended) TS_RETURN_IF_ERROR(log->SetEnded(false));
  LogOpened(*log);
  TS_ASSIGN_OR_RETURN(blocks_, tplog::TplogBlocks::Open(log->path()));
  log_ = std::move(log);
  date_ = date;
  // A log that was moved away has left a mark that this one does not reach yet.
  if (log_->recovery().created && mark_.is_open()) {
    TS_RETURN_IF_ERROR(SetLogged(std::min(logged_, ReplicaPlace{date, 0})));
  }
  ends_.clear();
  last_blocks_.clear();
  NoteEnd(blocks_->end());
  return ReadEnds();
}

// Reads the blocks that were appended since the last call.
absl::Status StandbyLog::ReadEnds() {
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<tplog::IndexBlock> block, blocks_->Next());
    if (!block) return absl::OkStatus();
    NoteEnd(blocks_->end());
    for (const tplog::IndexRows& rows : block->rows) {
      if (rows.table >= last_blocks_.size()) last_blocks_.resize(rows.table + 1);
      last_blocks_[rows.table] = tplog::PlaceOf(*block);
    }
  }
}

void StandbyLog::NoteEnd(const tplog::LogEnd& end) {
  ends_.push_back(end);
  if (ends_.size() > kEndsMax) ends_.pop_front();
}

ReplicaPlace StandbyLog::place() const {
  if (log_ == nullptr) return {kNullInt, 0};
  return {date_, log_->totals().messages};
}

absl::StatusOr<ReplicaRequest> StandbyLog::RequestAs(std::string_view name, uint64_t epoch) {
  if (may_lack_rows_ && has_log() && place().seq == 0 && HasEarlierLog()) {
    TS_RETURN_IF_ERROR(DropEmptyDay());
  }
  return ReplicaRequest{std::string(name), epoch,        place().date,   Ends(),
                        options_.shard,    std::nullopt, options_.tables};
}

absl::StatusOr<bool> StandbyLog::ContinueFrom(const ReplicaStart& start) {
  const ReplicaPlace own = place();
  const bool is_empty = !has_log() || own.seq == 0;
  // If the leader's day begins with other rows of feeds, the day before differs.
  const bool begins_otherwise = has_log() && is_empty && start.place.date == own.date &&
                                HasEarlierLog() && blocks_->carried() != start.carried;
  if (has_log() && (start.place.date < own.date || begins_otherwise)) {
    TS_RETURN_IF_ERROR(DropEmptyDay());
    return false;
  }
  if (is_empty || start.place.date > own.date) {
    TS_RETURN_IF_ERROR(Begin(start.place.date, start.carried));
  }
  if (start.place.seq > place().seq) {
    return InvalidArgument("{}: message {}, the log has {}", protocol::kReplicate, start.place.seq,
                           place().seq);
  }
  TS_RETURN_IF_ERROR(CutTo(start.place.seq));
  return true;
}

absl::Status StandbyLog::Begin(int32_t date, NameMap<tplog::TableRows> carried) {
  if (!has_log()) return OpenDay(date, std::move(carried));
  if (date_ < date) {
    TS_RETURN_IF_ERROR(place().seq == 0 ? RemoveEmptyLog() : SetLogAside());
    return OpenDay(date, std::move(carried));
  }
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
  if (ReplicaPlace{date_, seq} < logged_) {
    return DataLoss(
        "{}: the leader has only {} messages of it, but an earlier leader has logged {}: the "
        "leader has lost rows, and this standby does not cut them off",
        log_->path(), seq, logged_.seq);
  }
  const std::string path = log_->path();
  const uint64_t messages = place().seq;
  const int32_t date = date_;
  TS_RETURN_IF_ERROR(log_->Close());
  log_ = nullptr;
  blocks_ = nullptr;
  TS_ASSIGN_OR_RETURN(const std::string kept, tplog::CutTplog(path, seq));
  LogWarn(
      "messages that no leader logged are cut off path={} messages_from={} messages_to={} kept={}",
      path, messages, seq, kept);
  return OpenDay(date, {});
}

absl::Status StandbyLog::NoteLogged(ReplicaPlace place) {
  if (place.date == kNullInt) return absl::OkStatus();
  if (!has_log()) return SetLogged(place);  // The log is given away: this member leads.
  TS_RETURN_IF_ERROR(SetLogged(std::max(logged_, std::min(place, this->place()))));
  if (this->place() >= place) ClearMayLackRows();
  return absl::OkStatus();
}

absl::Status StandbyLog::MarkMayLackRows() {
  if (std::exchange(may_lack_rows_, true)) return absl::OkStatus();
  TS_RETURN_IF_ERROR(File::Create(may_lack_rows_path()).status());
  return SyncDirectory(options_.directory);
}

void StandbyLog::ClearMayLackRows() {
  if (!std::exchange(may_lack_rows_, false)) return;
  const std::string marker = may_lack_rows_path();
  absl::Status removed = absl::OkStatus();
  if (std::remove(marker.c_str()) != 0) removed = ErrnoStatus(errno, marker);
  // After a power cut it would be there again. With kBatch, nothing else keeps a member from
  // leading then; with other policies, the power cut itself does.
  const bool survives = options_.log.fsync == tplog::FsyncPolicy::kBatch;
  if (removed.ok() && survives) removed = SyncDirectory(options_.directory);
  if (!removed.ok()) LogWarn("file not removed path={} error=\"{}\"", marker, Message(removed));
}

absl::Status StandbyLog::DropEmptyDay() {
  if (!has_log()) return FailedPrecondition("{}: there is no log", options_.directory);
  TS_ASSIGN_OR_RETURN(const std::optional<int32_t> before, NewestDay(date_));
  if (place().seq > 0) {
    return FailedPrecondition("{}: has messages of a day that the leader does not have",
                              log_->path());
  }
  TS_RETURN_IF_ERROR(RemoveEmptyLog());
  if (before) TS_RETURN_IF_ERROR(OpenDay(*before, {}));
  return SetLogged(std::min(logged_, place()));
}

// Renames the newest log: it was not compared, and lacks the end of its day.
absl::Status StandbyLog::SetLogAside() {
  const std::string path = log_->path();
  ended_logs_.Wait();
  TS_RETURN_IF_ERROR(log_->CloseDurably());
  log_ = nullptr;
  blocks_ = nullptr;
  // The log last: as long as it exists, this day is the newest.
  for (const std::string& file : {tplog::TplogIndexPath(path), tplog::TplogStatePath(path), path}) {
    const std::string to = file + std::string(kNotCompared);
    if (std::rename(file.c_str(), to.c_str()) != 0) return ErrnoStatus(errno, file);
  }
  LogError("the leader has no log of this day, so it cannot be compared and is set aside path={}{}",
           path, kNotCompared);
  return SyncDirectory(options_.directory);
}

absl::Status StandbyLog::RemoveEmptyLog() {
  const std::string path = log_->path();
  ended_logs_.Wait();
  TS_RETURN_IF_ERROR(log_->Close());
  log_ = nullptr;
  blocks_ = nullptr;
  ends_.clear();
  // The log last: as long as it exists, this day is the newest.
  for (const std::string& file : {tplog::TplogIndexPath(path), tplog::TplogStatePath(path), path}) {
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
  std::vector<tplog::TplogBlock::Rows> rows;
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
  NameMap<tplog::TableRows> carried = log_->totals().feed_rows;
  absl::erase_if(carried, [](const auto& feed) { return IsUpstreamName(feed.first); });
  // As Tickerplant::RollTo.
  if (options_.log.fsync != tplog::FsyncPolicy::kNone) TS_RETURN_IF_ERROR(log_->Sync());
  TS_RETURN_IF_ERROR(log_->SetEnded(true));
  std::unique_ptr<tplog::TplogWriter> old = std::move(log_);
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

OpenedLog StandbyLog::Release() {
  if (!has_log()) return {};
  OpenedLog opened{date_, std::move(log_), {}};
  for (uint32_t table = 0; table < last_blocks_.size(); ++table) {
    if (last_blocks_[table].messages == 0) continue;
    opened.last_blocks[blocks_->names().tables.NameOf(table)] = last_blocks_[table];
  }
  blocks_ = nullptr;
  ends_.clear();
  return opened;
}

absl::Status StandbyLog::CloseDurably() {
  ended_logs_.Wait();
  if (!has_log()) return absl::OkStatus();
  return log_->CloseDurably();
}

}  // namespace tickstack::tickerplant
