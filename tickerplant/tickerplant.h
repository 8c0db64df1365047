#pragma once

// The tickerplant's state: schemas, the day's log, what is published up to where. No sockets, no
// clock of its own: tickerplant_service.h drives it.
//
//   Stage (checks, stamps)  ->  Commit: one log write  ->  Publish: on the timer, or at once
//
// What is not logged is never published, and what could not be logged (a full disk) stays staged
// until it could: nothing that was accepted is lost while the process lives.
//
// Threads: one owner.

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
#include "base/string_map.h"
#include "base/time.h"
#include "table/schema.h"
#include "tickerplant/day_clock.h"
#include "tickerplant/publisher.h"
#include "tickerplant/upd_stage.h"
#include "wire/tplog_writer.h"
#include "wire/upd.h"

namespace tickstack::tickerplant {

struct TickerplantOptions {
  std::vector<Schema> schemas;
  std::string log_directory;
  std::string log_name = "sym";  // The log is `<log_directory>/<log_name>yyyy.mm.dd`.
  wire::TplogOptions log;
  bool batch = true;  // Publish on Publish() only, each table's rows together; else after every
                      // Commit, in order.
  // In batch mode, tables whose rows do not wait for Publish(): they leave as soon as they are
  // logged, ahead of rows of other tables that were logged before them and wait. For what is made
  // of rows that were published already, as bars are: waiting a second time would only age them.
  std::vector<std::string> at_once = {};
  // In batch mode, so many waiting bytes are published without waiting for the timer.
  size_t publish_bytes = size_t{1} << 20;
};

struct TickerplantCounters {
  uint64_t upds = 0;             // Accepted.
  uint64_t rows = 0;             // Of those.
  uint64_t upds_refused = 0;     // With an error to the sender.
  uint64_t rows_duplicated = 0;  // Numbered rows that were logged before, dropped.
  uint64_t log_retries = 0;      // Commits that found the disk full.
};

class Tickerplant {
 public:
  // Opens today's log, mending its tail, or that of the first day from today on that has not ended
  // here before: see TplogState. Errors as TplogWriter::Open; kFailedPrecondition: the
  // newest log is of a date beyond tomorrow, so either the clock is wrong now, or it was then; or
  // the log has rows that do not fit the schemas (logged_schemas.h).
  // kInvalidArgument: a table of `at_once` is not in the schemas.
  static absl::StatusOr<std::unique_ptr<Tickerplant>> Open(TickerplantOptions options, DayClock day,
                                                           const Clock* clock);

  // Stages `(verb; `table; x)`; kInvalidArgument, in the words that q's user expects (`type`,
  // `length` or the unknown table's name first), if it does not fit. `owner` keeps the body alive.
  absl::Status StageUpd(std::span<const std::byte> body, const std::shared_ptr<const void>& owner);
  // Stages `(verb; `feed; row; `table; x)`. Rows that were logged before are dropped; a gap is an
  // error.
  absl::Status StageNumberedUpd(std::span<const std::byte> body,
                                const std::shared_ptr<const void>& owner);
  // The feed that `(verb; `feed; row; `table; x)` names; nullopt if it names none.
  static std::optional<std::string_view> FeedOf(std::span<const std::byte> body);

  bool has_staged() const { return !staged_.empty(); }
  // Logs what is staged, a write per source, and hands it to the publisher. kResourceExhausted: the
  // disk is full; everything stays staged, try again. Any other error is final.
  absl::Status Commit();
  void Publish();
  void PublishInTime();  // The same, for the timer.

  // Subscribes an outlet to a table, or to all for "". Publishes first, so that the position that
  // FindValue gives next is exact. kNotFound, the table's name its text.
  //
  // With `ahead`, which is for numbered upds, the outlet does not wait for Publish(): it gets all
  // its rows when they are logged. For who makes of the rows of a batch what others wait for, as an
  // aggregation engine does: it is done with most of them when the batch leaves. Of a batch that
  // leaves before its time it is told: (`.u.batch; seq). An outlet is ahead with all of its tables,
  // or with none: its last subscription decides.
  absl::Status Subscribe(std::string_view table, const Subscription& subscription);
  void Unsubscribe(const Outlet* outlet) {
    publisher_.Remove(outlet);
    ahead_.Remove(outlet);
  }

  // Ends the day if it is over: publishes, broadcasts `.u.end`, opens the next log. Call it often;
  // true if it did. Waits while anything is staged, and for kJumpHeldNs if the clock has gone on by
  // more than a day: it may come back, and a day that has begun stays. On an error the old day goes
  // on.
  static constexpr int64_t kJumpHeldNs = 30 * kNsPerSecond;
  absl::StatusOr<bool> RollIfDue();
  // Whether RollIfDue would end the day now.
  bool IsRollDue();
  // kFailedPrecondition if EndDay would be refused.
  absl::Status MayEndDay() const;
  // Ends the day now, though the clock does not say so, and begins the one after it.
  // kFailedPrecondition if it was ended early already.
  absl::Status EndDay();

  absl::Status Close();  // Publishes, syncs and closes the log.

  std::span<const Schema> schemas() const { return options_.schemas; }
  const Publisher& publisher() const { return publisher_; }
  const Publisher& ahead() const { return ahead_; }  // Of those that do not wait.
  const TickerplantCounters& counters() const { return counters_; }
  const wire::TplogWriter& log() const { return *log_; }
  int32_t date() const { return date_; }
  // The log of the day that ended last here, and how many messages it has.
  struct EndedLog {
    std::string path;
    uint64_t messages = 0;
  };
  const std::optional<EndedLog>& ended_log() const { return ended_log_; }
  uint64_t logged_seq() const { return log_->totals().messages; }  // `.u.j`
  uint64_t published_seq() const { return published_seq_; }        // `.u.i`
  // Rows of each table, in schema order, logged (or staged) from a feed that numbers them.
  std::vector<int64_t> FeedRows(std::string_view feed) const;
  std::vector<int64_t> LoggedFeedRows(std::string_view feed) const;  // The same, logged only.
  int FindTable(std::string_view table) const;                       // -1: there is none.

 private:
  Tickerplant(TickerplantOptions options, DayClock day, const Clock* clock);
  std::string LogPath(int32_t date) const;
  std::optional<int32_t> NewestLog(int32_t before = INT32_MAX) const;
  absl::StatusOr<int32_t> FirstDayNotEnded(int32_t date) const;
  void MendLogBefore(int32_t date) const;
  absl::StatusOr<StringMap<wire::TableRows>> ProgressBefore(int32_t date) const;
  absl::Status OpenLog(int32_t date, StringMap<wire::TableRows> carried);
  absl::Status Stage(size_t table, wire::RowsView& rows, std::span<const std::byte> x,
                     const std::shared_ptr<const void>& owner, std::string_view feed,
                     int64_t first_row);
  std::vector<int64_t> RowsByTable(const StringMap<wire::TableRows>& feeds,
                                   std::string_view feed) const;
  absl::StatusOr<size_t> TableOf(std::optional<std::string_view> name);
  absl::StatusOr<std::vector<size_t>> ColumnOrder(const Schema& schema,
                                                  const wire::RowsView& rows) const;
  StagedBlock& BlockFor(std::string_view feed);
  absl::Status RollTo(int32_t date);
  // Of what is of messages behind the last publication: see wire/position.h.
  int64_t AheadNumber() const { return -1 - static_cast<int64_t>(published_seq_); }
  void PublishAhead();

  TickerplantOptions options_;
  const DayClock day_;
  const Clock* clock_;
  StringMap<size_t> table_index_;
  std::vector<bool> at_once_;           // By table.
  std::vector<ByteBuffer> log_prefix_;  // By table: the log record up to x.
  Publisher publisher_;
  Publisher ahead_;
  std::unique_ptr<wire::TplogWriter> log_;
  std::optional<EndedLog> ended_log_;
  wire::UpdDecoder decoder_;
  size_t last_table_ = 0;  // Upds of a table come in runs.
  std::deque<StagedBlock> staged_;
  StagedBlock spare_;
  StringMap<wire::TableRows> feed_rows_;  // Logged and staged.
  int32_t date_ = 0;
  int64_t next_roll_ns_ = 0;
  std::optional<int64_t> jumped_ns_;  // When the clock was first seen more than a day ahead.
  uint64_t published_seq_ = 0;
  TickerplantCounters counters_;
};

}  // namespace tickstack::tickerplant
