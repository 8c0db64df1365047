#pragma once

// The logs of a standby: it appends the blocks of the leader exactly, so that its log has the same
// bytes as the leader's, and so has the index.
//
// A standby may have a tail that never became part of the leader's log: blocks that were sent to
// it, but not acknowledged by all before that leader died. Ends() gives the places from which the
// leader chooses the last common one, and CutTo cuts the rest off, into a file beside the log.
//
// A log that is new, or that a power cut may have shortened, may lack rows that a leader has logged
// with this standby's acknowledgement. The file NAME.may-lack-rows says so, until the log has
// everything that the leader has logged, or an operator removes the file.
//
// The file NAME.logged says up to where a leader has logged what this log has, as `DATE MESSAGES`.
// It is not synced: after a power cut it may say less. The log is never cut before that place.
//
// Threads: one owner. The logs of ended days are made durable in the background.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/name_map.h"
#include "table/shard_id.h"
#include "tickerplant/ended_logs.h"
#include "tickerplant/opened_log.h"
#include "tickerplant/standby/replication_messages.h"
#include "tplog/tplog_blocks.h"
#include "tplog/tplog_writer.h"

namespace tickstack::tickerplant {

struct StandbyLogOptions {
  std::string directory;
  std::string log_name = "sym";
  tplog::TplogOptions log = {};
  ShardId shard = {};       // A leader of another shard or map is not followed.
  std::string tables = {};  // See tables_text.h; a leader refuses a standby with other tables.
};

class StandbyLog {
 public:
  // A leader has fewer blocks than this in flight, so the common place is among as many ends.
  static constexpr size_t kEndsMax = kReplicaEndsMax;

  // Opens the newest log of the directory, if it has one, and repairs its tail. Errors: those of
  // TplogWriter::Open and TplogBlocks; kUnavailable if another process has the log. Cost: reads the
  // index twice.
  static absl::StatusOr<std::unique_ptr<StandbyLog>> Open(StandbyLogOptions options);

  bool has_log() const { return log_ != nullptr; }
  // The end of the newest log; {kNullInt, 0} without one.
  ReplicaPlace place() const;
  std::string path() const { return log_ == nullptr ? std::string() : log_->path(); }
  // The ends of the last blocks of the newest log, ascending. The last one is place().
  std::vector<tplog::LogEnd> Ends() const { return {ends_.begin(), ends_.end()}; }

  // Returns what this standby tells a leader. If the log may lack rows, drops an empty newest day
  // first, because the day before may lack some, too. Errors: those of DropEmptyDay.
  absl::StatusOr<ReplicaRequest> RequestAs(std::string_view name, uint64_t epoch);
  // Continues where the leader says: drops an empty day, begins the leader's, or cuts off what no
  // leader has logged. Returns false if a day was dropped: then the leader has to be asked again.
  // Errors: kInvalidArgument if this log does not reach that place; those of the calls below.
  absl::StatusOr<bool> ContinueFrom(const ReplicaStart& start);

  // Begins the log of `date`, with these rows by feed. It is the first log; or there is one of this
  // day without messages, which is made anew if it begins with other rows; or the newest one is of
  // an earlier day, which the leader does not have: then it is renamed, or removed if it has no
  // messages. kFailedPrecondition if there is any other log.
  absl::Status Begin(int32_t date, NameMap<tplog::TableRows> carried);
  // Cuts the newest log after message `seq`. kDataLoss if a leader has logged messages after that
  // one (NoteLogged); nothing is changed then. Other errors: those of CutTplog and of Open; then
  // there is no log, and this must be opened again. Cost: reads the index.
  absl::Status CutTo(uint64_t seq);
  // Removes the newest log, which must have no messages: its day begins anew. The day before it is
  // the newest again, and has not ended; if there is none, there is no log any more.
  // kFailedPrecondition if the log has messages.
  absl::Status DropEmptyDay();

  // Records that the leader, which may be this member, has logged everything up to `place`. What
  // this log has of that is not cut off any more. Errors: those of writing a file.
  absl::Status NoteLogged(ReplicaPlace place);
  // Records that the log lacks no rows: this member leads, or a topic has told it of all.
  void NoteComplete() { ClearMayLackRows(); }
  // True if the log may lack rows that a leader has logged, also before a restart: there was no
  // log, it ends before a place of NoteLogged, or a power cut or a failed sync may have taken its
  // end. False once it has everything up to a place of NoteLogged, or after NoteComplete.
  bool may_lack_rows() const { return may_lack_rows_; }
  std::string may_lack_rows_path() const;

  // Appends a block exactly. kFailedPrecondition if it does not follow the last one;
  // kResourceExhausted if the disk is full, after which the same block may be appended again. Other
  // errors are final: this must be opened again.
  absl::Status Append(const ReplicaBlock& block);
  // Ends the day as the leader does, and begins `next`. kFailedPrecondition if `day` is not this
  // day, or not before `next`. Other errors, those of Open, are final: this must be opened again,
  // and the old day continues.
  absl::Status EndDay(const ReplicaNextDay& day);

  // Closes the logs, and waits until those of ended days are durable. Nothing can be appended then.
  absl::Status Close();
  // Gives the newest log away, open as it is: there is none here after that. Does not wait for logs
  // of ended days.
  OpenedLog Release();
  // Does what Close does, and makes the newest log durable, whatever the policy.
  absl::Status CloseDurably();

 private:
  explicit StandbyLog(StandbyLogOptions options) : options_(std::move(options)) {}
  std::string LogPath(int32_t date) const;
  absl::Status OpenMark();
  absl::Status SetLogged(ReplicaPlace place);
  absl::StatusOr<bool> IsNew() const;
  tplog::TplogOptions LogOptions();
  bool HasEarlierLog() const;
  absl::Status MarkMayLackRows();
  void ClearMayLackRows();
  absl::StatusOr<std::optional<int32_t>> NewestDay(int32_t before = INT32_MAX) const;
  absl::Status OpenNewest();
  absl::Status OpenDay(int32_t date, NameMap<tplog::TableRows> carried);
  void CloseLogBefore();
  absl::Status SetLogAside();
  absl::Status RemoveEmptyLog();
  absl::Status ReadEnds();
  void NoteEnd(const tplog::LogEnd& end);

  const StandbyLogOptions options_;
  EndedLogs ended_logs_;
  std::unique_ptr<tplog::TplogWriter> log_;  // nullptr: there is none, or it is closed.
  int32_t date_ = 0;
  // Follows what is appended, for the digests.
  std::unique_ptr<tplog::TplogBlocks> blocks_;
  std::deque<tplog::LogEnd> ends_;
  std::vector<tplog::BlockPlace> last_blocks_;  // By number of the table.
  ReplicaPlace logged_{kNullInt, 0};  // Up to here, a leader has logged what this log has.
  File mark_;                         // NAME.logged.
  bool may_lack_rows_ = false;
};

}  // namespace tickstack::tickerplant
