#pragma once

// The tickerplant's state: schemas, the day's log, and how much of it is published. It has no
// sockets and no clock of its own; tickerplant_service.h drives it.
//
//   Stage (checks, stamps)  ->  Commit: one log write  ->  Publish: on the timer or immediately
//
// Rows are published only after they are logged. Rows that cannot be logged because the disk is
// full stay staged until they can, so no accepted row is lost while the process lives.
//
// Threads: one owner.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/name_map.h"
#include "base/time.h"
#include "table/schema.h"
#include "table/shard_id.h"
#include "tickerplant/activity.h"
#include "tickerplant/catch_up.h"
#include "tickerplant/day_clock.h"
#include "tickerplant/ended_logs.h"
#include "tickerplant/opened_log.h"
#include "tickerplant/publication.h"
#include "tickerplant/publisher.h"
#include "tickerplant/shard_rows.h"
#include "tickerplant/standby/commit_gate.h"
#include "tickerplant/upd_stage.h"
#include "tplog/tplog_writer.h"
#include "wire/upd.h"

namespace tickstack::tickerplant {

struct TickerplantOptions {
  std::vector<Schema> schemas;
  std::string log_directory;
  std::string log_name = "sym";  // The log is `<log_directory>/<log_name>yyyy.mm.dd`.
  tplog::TplogOptions log;
  bool batch = true;  // True: only Publish() publishes, each table's rows together. False: every
                      // Commit publishes, in order.
  // Tables whose subscriptions are all eager (publication.h). For tables derived from rows that
  // were published already, such as bars.
  std::vector<std::string> at_once = {};
  // In batch mode, publishes without waiting for the timer once this many bytes are pending.
  size_t publish_bytes = size_t{1} << 20;
  // Unsent bytes above which a subscriber gets its rows from the log until it has caught up
  // (catch_up.h). Many subscribers share kLiveQueuesBytes. 0: only the connection limits the queue.
  size_t live_queue_bytes = size_t{4} << 20;
  // True: a day ends only by EndDayTo, when the upstream's day has ended (upstream.h).
  bool follows_upstream = false;
  // True: a member of a cluster. Its day is that of the cluster, whatever this clock says.
  bool is_member = false;
  // Rows of other shards are refused.
  ShardOptions shard = {};
};

struct TickerplantCounters {
  uint64_t upds = 0;             // Accepted.
  uint64_t rows = 0;             // Rows of the accepted upds.
  uint64_t upds_refused = 0;     // Answered with an error.
  uint64_t rows_duplicated = 0;  // Numbered rows that were dropped, as they were logged before.
  uint64_t log_retries = 0;      // Commits that found the disk full.
  uint64_t fell_behind = 0;      // Times that a subscriber fell behind.
};

class Tickerplant {
 public:
  // Opens today's log and repairs its tail. If today has ended here before, opens the log of the
  // first later day that has not (TplogState). Errors: those of TplogWriter::Open;
  // kFailedPrecondition if the newest log is dated after tomorrow, so that the clock is wrong now
  // or was wrong then (a member of a cluster continues it: another member may have begun it), if
  // the log has rows that do not fit the schemas (logged_schemas.h), or if it has rows of another
  // shard or map (SettleShard); kInvalidArgument if a table of `at_once` is not in the schemas.
  // `opened`, if it has a writer, is used if it is the log that this would open, and closed
  // otherwise. Cost: that of TplogWriter::Open; nothing is read if `opened` is used.
  static absl::StatusOr<std::unique_ptr<Tickerplant>> Open(TickerplantOptions options, DayClock day,
                                                           const Clock* clock,
                                                           OpenedLog opened = {});

  // Returns the path of the log that Open would open now. Errors: those of Open about dates.
  static absl::StatusOr<std::string> LogToOpen(const TickerplantOptions& options, DayClock day,
                                               const Clock* clock);

  // The newest day that has a log in the directory.
  struct NewestDay {
    int32_t date = 0;
    bool ended = false;
  };
  // Returns nullopt if there is no log. Errors: those of reading the directory and the log's state.
  static absl::StatusOr<std::optional<NewestDay>> FindNewestDay(const TickerplantOptions& options,
                                                                const DayClock& day,
                                                                const Clock* clock);

  // Stages `(verb; `table; x)`. `owner` keeps the body alive. kInvalidArgument if it does not fit;
  // the message begins with q's word for the error: `type`, `length` or the unknown table's name.
  // `allowed`, if not null, says of each table whether the sender may publish to it: if not,
  // kPermissionDenied, with the table's name. The check costs a bit test.
  absl::Status StageUpd(std::span<const std::byte> body, const std::shared_ptr<const void>& owner,
                        const std::vector<bool>* allowed = nullptr);
  // Stages `(verb; `feed; row; `table; x)`. Drops rows that were logged before. kInvalidArgument
  // also for a gap in the row numbers. If `user` is not empty, the feed's name belongs to this user
  // once rows were accepted; the caller has checked that it may.
  absl::Status StageNumberedUpd(std::span<const std::byte> body,
                                const std::shared_ptr<const void>& owner,
                                const std::vector<bool>* allowed = nullptr,
                                std::string_view user = {});
  // Stages rows of another tickerplant's log: `x` is the third item of an upd, and `first_row` the
  // number of its first row under the name `feed`. Drops rows that were logged before. Errors:
  // those of StageNumberedUpd.
  absl::Status StageLogged(size_t table, std::span<const std::byte> x,
                           const std::shared_ptr<const void>& owner, std::string_view feed,
                           int64_t first_row);
  // Returns the user to whom a feed's name belongs, because accepted rows of this user are numbered
  // under it, here or under another map of shards; empty: to no user.
  std::string OwnerOf(std::string_view feed) const;
  // kInvalidArgument if no feed may have this name.
  static absl::Status CheckFeedName(std::string_view feed);
  // Returns the feed that `(verb; `feed; row; `table; x)` names; nullopt if it names none.
  static std::optional<std::string_view> FeedOf(std::span<const std::byte> body);

  bool has_staged() const { return !staged_.empty(); }
  // Logs all staged rows, in one write per source, and passes them to the publisher.
  // kResourceExhausted if the disk is full: everything stays staged, so call it again. Any other
  // error is final. With a gate, offers it all staged rows, and logs those that are acknowledged.
  absl::Status Commit();
  // Asks `gate` from now on before rows are logged; nullptr: logs them immediately. It must outlive
  // the gate's use here.
  void set_gate(CommitGate* gate) { gate_ = gate; }
  // Upds that were staged and, of them, upds that were logged, since this was opened.
  uint64_t upds_staged() const { return counters_.upds; }
  uint64_t upds_logged() const { return upds_logged_; }
  // Publishes everything that is logged.
  void Publish();

  // Subscribes an outlet to a table, or to all tables for "". Publishes first, so that the log
  // position that the subscriber is told next is exact. kNotFound, with the table's name, for an
  // unknown table.
  absl::Status Subscribe(std::string_view table, const Subscription& subscription);
  void Unsubscribe(const Outlet* outlet);

  // Limit on the send queues of all live subscribers together. Each may always have
  // kLiveQueueBytesMin.
  static constexpr size_t kLiveQueuesBytes = size_t{32} << 20;
  static constexpr size_t kLiveQueueBytesMin = size_t{128} << 10;
  // Subscribers that get their rows from the log.
  const CatchUp& catch_up() const { return catch_up_; }
  struct Served {
    std::vector<Outlet*> live;             // They have caught up, and are live again.
    std::vector<CatchUp::Failure> failed;  // Their rows cannot be read. They are unsubscribed.
  };
  // Sends rows from the log to subscribers that are behind and have read what they were sent, up to
  // about kTurnBytes. Call it again while catch_up().is_due().
  static constexpr size_t kTurnBytes = size_t{1} << 20;
  Served ServeBehind();
  // Sends a message after everything that is published. `message` has a frame.
  void SendInOrder(Outlet* outlet, const ByteBuffer& message);
  std::vector<Outlet*> FindStalled(int64_t at_most_ns) { return catch_up_.FindStalled(at_most_ns); }

  std::vector<const Subscription*> SubscriptionsOf(size_t table) const;
  size_t subscribers() const { return publication_.Outlets().size() + catch_up_.size(); }

  // Ends the day if it is over: publishes, broadcasts `.u.end` and opens the next log. Returns true
  // if the day has ended. Does nothing while rows are staged. If the clock has jumped by more than
  // a day, waits for kJumpHeldNs, because the clock may be corrected and a day that has begun
  // cannot be undone. After an error the old day continues.
  static constexpr int64_t kJumpHeldNs = 30 * kNsPerSecond;
  absl::StatusOr<bool> RollIfDue();
  // True if the day is over and should end: RollIfDue would end it now. With a gate, also while
  // rows are staged, as some nearly always are: the caller stages no more until they are logged.
  bool IsRollDue();
  // The day that follows if the day ends now: today by the clock, or the next one.
  int32_t NextDay() const { return std::max(day_.DateAt(DayNs()), date_ + 1); }
  // Returns for how long, by this clock, the day has been over without having ended; 0 if it is not
  // over.
  int64_t OverdueNs() const;
  // Ends the day now, and begins the day `next`. For a tickerplant that follows an upstream. After
  // an error the old day continues: kFailedPrecondition if `next` is not later than today, and the
  // errors of Commit and of opening the next log.
  absl::Status EndDayTo(int32_t next);
  // kFailedPrecondition if EndDay would be refused.
  absl::Status MayEndDay() const;
  // Ends the day now, before its time, and begins the next one. kFailedPrecondition if the day was
  // ended early already.
  absl::Status EndDay();

  // Publishes, closes the log, and waits until the logs of ended days are durable.
  absl::Status Close();

  std::span<const Schema> schemas() const { return options_.schemas; }
  const Publication& publication() const { return publication_; }
  const TickerplantCounters& counters() const { return counters_; }
  const Activity& activity() const { return activity_; }
  // Rows by table, in schema order, that were logged since this was opened.
  std::span<const uint64_t> rows_logged() const { return rows_logged_; }
  const tplog::TplogWriter& log() const { return *log_; }
  int32_t date() const { return date_; }
  // The log before today's, and its number of messages; nullopt: an earlier process closed it, so
  // all that it has.
  struct EndedLog {
    std::string path;
    std::optional<uint64_t> messages;
  };
  const std::optional<EndedLog>& ended_log() const { return ended_log_; }
  // The logs of a day and of those before it that are still in the directory, up to today's.
  struct DayLog {
    int32_t date = 0;
    EndedLog log;  // Its number of messages is known of today's log and of the one before it.
  };
  // Returns the days that have a log, in ascending order; the last one is today. Errors: those of
  // reading the directory.
  absl::StatusOr<std::vector<int32_t>> DaysWithLogs() const;
  // kNotFound, with the date, if there is no log of this day or it is a day after today.
  absl::StatusOr<DayLog> LogOf(int32_t date) const;
  EndedLogs& ended_logs() { return ended_logs_; }
  uint64_t logged_seq() const { return log_->totals().messages; }          // `.u.j`
  uint64_t published_seq() const { return publication_.published_seq(); }  // `.u.i`
  // Returns the logged and staged rows of a feed that numbers them, by table in schema order.
  std::vector<int64_t> FeedRows(std::string_view feed) const;
  std::vector<int64_t> LoggedFeedRows(std::string_view feed) const;  // Logged rows only.
  // Rows of the same source that are logged under another map of shards, or without one, here or in
  // a log that this stack has left behind; nullopt if there are none, or `feed` has rows itself.
  struct EarlierRows {
    std::string name;
    uint64_t rows = 0;
  };
  std::optional<EarlierRows> FindEarlierRows(std::string_view feed) const;
  const ShardId& shard_id() const { return shard_id_; }
  int FindTable(std::string_view table) const;  // -1: there is none.

 private:
  Tickerplant(TickerplantOptions options, DayClock day, const Clock* clock);
  std::string LogPath(int32_t date) const;
  absl::StatusOr<std::optional<int32_t>> NewestLog(int32_t before = INT32_MAX) const;
  absl::StatusOr<int32_t> FirstDayNotEnded(int32_t date) const;
  absl::StatusOr<int32_t> DayToOpen() const;
  absl::StatusOr<NameMap<tplog::TableRows>> SettleLogBefore(int32_t date);
  absl::Status OpenLog(int32_t date, NameMap<tplog::TableRows> carried);
  void UseLog(int32_t date, std::unique_ptr<tplog::TplogWriter> log);
  absl::Status Stage(size_t table, wire::RowsView& rows, std::span<const std::byte> x,
                     const std::shared_ptr<const void>& owner, std::string_view feed,
                     int64_t first_row, std::string_view user, bool of_upstream = false);
  // A feed that numbers its rows, in this day's log or in those before it.
  struct NumberedFeed {
    tplog::TableRows rows;           // Logged and staged.
    std::vector<std::string> names;  // Under which its rows are in the index.
    std::string logged_as;           // The one of them under which its next rows are logged.
    uint32_t owner_number = 0;       // 0: the name belongs to no user.
    std::string user;
  };
  NumberedFeed& Number(std::string_view feed, std::string_view user);
  std::vector<int64_t> RowsByTable(const tplog::TableRows& rows) const;
  absl::StatusOr<size_t> TableOf(std::optional<std::string_view> name);
  absl::Status NotAllowed(size_t table) const;
  absl::StatusOr<std::vector<size_t>> ColumnOrder(const Schema& schema,
                                                  const wire::RowsView& rows) const;
  StagedBlock& BlockFor(std::string_view feed, std::string_view logged_as);
  // The time by which days end: that of the clock, unless the gate knows better.
  int64_t DayNs() const {
    const int64_t now_ns = clock_->NowNs();
    return gate_ == nullptr ? now_ns : gate_->DayNs(now_ns);
  }
  absl::Status RollTo(int32_t date);
  tplog::TplogBlock LogBlockOf(const StagedBlock& block, int64_t time_ns);
  absl::Status OfferStaged();
  size_t LiveQueueBytes() const;
  bool FindSlow();
  bool IsDueForThoseBehind() const;
  void AfterPublication();

  TickerplantOptions options_;
  const DayClock day_;
  const Clock* clock_;
  NameMap<size_t> table_index_;
  std::vector<ByteBuffer> log_prefix_;  // By table: the log record up to x.
  Publication publication_;
  CatchUp catch_up_;
  std::vector<uint64_t> rows_logged_;  // By table, since this was opened.
  Activity activity_;
  uint64_t published_bytes_ = 0;  // Bytes of the log that are published.
  std::vector<Outlet*> slow_;     // Scratch: what FindSlow has found.
  std::unique_ptr<tplog::TplogWriter> log_;
  EndedLogs ended_logs_;
  std::optional<EndedLog> ended_log_;
  wire::UpdDecoder decoder_;
  const ShardId shard_id_;
  std::optional<ShardRows> shard_rows_;  // nullopt: the stack has no shards.
  size_t last_table_ = 0;                // Cached: consecutive upds are often of one table.
  std::deque<StagedBlock> staged_;
  StagedBlock spare_;
  CommitGate* gate_ = nullptr;
  // Times of the first blocks of staged_, which were offered to the gate: they do not change.
  std::deque<int64_t> offered_ns_;
  uint64_t offered_seq_ = 0;  // The log's messages once all offered blocks are logged.
  std::vector<tplog::TplogBlock::Rows> block_rows_;  // Scratch of LogBlockOf.
  uint64_t upds_logged_ = 0;
  NameMap<NumberedFeed> numbered_feeds_;
  int32_t date_ = 0;
  int64_t day_end_ns_ = 0;            // When date_ ends.
  std::optional<int64_t> jumped_ns_;  // When the clock was first seen more than a day ahead.
  TickerplantCounters counters_;
};

}  // namespace tickstack::tickerplant
