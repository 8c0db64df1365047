#pragma once

// Writes past days into a database while the next one is captured:
//
//   ingest thread   .u.end: tables frozen, new ones -------------------- capture goes on ----->
//   this thread               | write the partition | tell the hdb | drop the day |
//
// The files on disk tell what remains to be done. A day is complete when its partition exists,
// which a rename creates. If the process dies before the rename, it writes the day again at its
// next start:
//
//   died before            at the next start                          source of the rows
//   the rename             the log has no partition: it is written    the log
//   the hdb was notified   there is a partition: the hdb is notified
//
// From the start on until all of this is done, the rdb says that it awaits these days
// (Rdb::SetAwaitedDays), so that nobody takes them for days without rows.
//
// Days are written in order. An attempt that fails (on a full disk) is repeated after a pause, and
// the day stays in memory and visible until then. A day is blocked, without blocking other days, if
// only a person can help:
//
//   its partition exists with other rows (a part of the day was written earlier, from an open log)
//   memory lacks some of its rows, and its log is damaged or missing
//
// A blocked day waits in memory, or in its log. It is tried again when its partition, its log or
// the schemas change. A table is never written incompletely: neither half of it, nor without the
// rows that did not fit.
//
// A table that cannot be written does not keep the others: the partition is written without it, and
// says so (disk/left_out_table.h). The day stays blocked, and the table is added to the partition
// from the log when it can be. This happens if
//
//   the log has rows of a table that the tickerplant does not have, or of other types
//   the table has other types in the newest partition (disk/schema_check.h)
//   no file can have the name of the table or of a column
//
// The hdb is notified by the message that kdb+'s own rdb sends, the text `\l .`, which is repeated
// until it is answered. Only then are the tables dropped.
//
// Logs are removed when they are older than keep_logs_days, VerifyAgainstLog agrees, and every file
// of the partition is sound (CheckPartition): a log is the only other copy of its day.
//
// Threads: the ingest thread calls the functions of DayKeeper; everything else happens on a thread
// of this class, which has a higher nice value.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "disk/partition_writer.h"
#include "rdb/day_logs.h"
#include "rdb/ended_day.h"
#include "rdb/rdb.h"

namespace tickstack::rdb {

struct EndOfDayOptions {
  std::string database;
  // Folder of the tickerplant's logs; empty: the one in the tickerplant's answer. Days in memory
  // are written even if the logs cannot be read.
  std::string log_folder;
  std::string hdb;  // host:port; empty: no hdb is notified.
  disk::CompressionRules compression;
  int threads = 3;  // Writing threads; usually one of three waits for the disk.
  int nice = 10;
  size_t memory_bytes = size_t{160} << 20;  // See PartitionWriterOptions.
  // -1: keep all. Use at least 1: a subscriber that is behind when a day ends reads its log.
  int keep_logs_days = -1;
  int64_t retry_ns = 5 * kNsPerSecond;
  int64_t hdb_timeout_ns = 10 * kNsPerSecond;
  disk::StorageObserver* observer = nullptr;  // Observes the writes; may be nullptr.
  // True: writes nothing until Begin, because another process may be writing the same days.
  bool waits = false;
};

class EndOfDay final : public DayKeeper {
 public:
  // `rdb` must outlive this; it counts what happens here.
  EndOfDay(EndOfDayOptions options, Rdb* rdb);
  // Cancels the work, which the process finishes after its next start.
  ~EndOfDay() override;

  void OnDayEnded(EndedDay day) override;
  void OnOtherLog(const std::string& log_path) override;
  void OnReplayDone(const std::string& log_path, std::vector<Schema> schemas) override;

  // Begins to write if EndOfDayOptions::waits is set. Otherwise it has begun already.
  void Begin();

  // Blocks until all known work is done or needs a person. Returns false if the time is over before
  // that.
  bool WaitUntilIdle(int64_t at_most_ns);

 private:
  // Cancels all further steps of a write once this object is stopping.
  class Stopper final : public disk::StorageObserver {
   public:
    explicit Stopper(EndOfDay* owner) : owner_(owner) {}
    absl::Status Before(disk::StorageStep step, const std::string& path, size_t bytes) override;

   private:
    EndOfDay* const owner_;
  };
  // The folder and name of the logs, the date of the log that is being written, and its tables.
  struct Logs {
    std::string folder;
    std::string name;
    int32_t current = 0;
    std::vector<Schema> schemas;
    uint64_t look = 0;  // EndOfDay::looks_ then.
  };

  struct Blocked {
    int32_t date;
    std::optional<EndedDay> day;  // nullopt if only its log has it.
    std::string stamp;            // StampOf at the last look; empty: look again.
    std::string why;
    bool by_tables = false;  // True if only some tables are missing.
  };

  void Run();
  // Performs due work without holding the lock. Returns the MonotonicNs at which more may be due;
  // INT64_MAX if everything is done.
  int64_t DoWhatIsDue();
  absl::Status WritePastLogs();
  absl::Status WriteEndedDay(const EndedDay& day);
  absl::Status WriteIncompleteDay(const EndedDay& day);
  absl::Status WriteTables(const EndedDay& day);
  absl::Status WriteLog(const DayLog& log);
  absl::Status WriteOrCheck(int32_t date, std::vector<Snapshot> tables,
                            std::vector<disk::LeftOutTable> left_out, std::string_view source);
  absl::Status Write(int32_t date, std::span<const Snapshot> tables,
                     std::span<const disk::LeftOutTable> left_out);
  absl::Status AddToPartition(int32_t date, std::span<const Snapshot> tables);
  absl::Status CheckWritten(int32_t date, std::span<const Snapshot> tables,
                            std::span<const disk::LeftOutTable> left_out, std::string_view source);
  disk::PartitionWriterOptions WriterOptions();
  // `source`: where the day is written from, "memory" or "its log".
  absl::Status MismatchError(const absl::Status& why, std::string_view source) const;
  absl::Status WaitsForLog(const absl::Status& why,
                           std::span<const std::shared_ptr<const Table>> tables,
                           const std::string& log) const;
  DayLog LogOf(int32_t date) const;
  void CompareWithLog(const std::string& partition, const DayLog& log);
  void AddFromLog(const DayLog& log);
  void BlockTables(int32_t date, std::optional<EndedDay> day);
  std::string StampOf(int32_t date, bool by_tables = false) const;
  void Block(int32_t date, std::optional<EndedDay> day, std::string stamp, const absl::Status& why);
  void Postpone(int32_t date, const absl::Status& why);
  void AddBlocked(Blocked blocked);
  void RetryBlocked();
  bool IsBlocked(int32_t date) const;
  void PublishBlocked();
  void PublishDone();
  std::optional<Logs> LogsOf(const std::string& log_path) const;
  bool HasNoPartition(int32_t date) const;
  std::vector<int32_t> AwaitedDays(const Logs& logs) const;
  void EndAwaiting();
  void TellHdbOfEarlierDays();
  absl::Status NotifyHdb() const;
  absl::Status VerifyPartition(const std::string& partition, const DayLog& log);
  void RemoveOldLogs();
  void CountError(std::string_view what, int32_t date, const absl::Status& why);
  std::optional<EndedDay> FirstEnded();
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  const EndOfDayOptions options_;
  Rdb* const rdb_;
  Stopper stopper_{this};
  WorkerPool workers_;
  std::atomic<bool> stopping_ = false;  // A flag that guards no other data.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<EndedDay> ended_;     // Guarded by mutex_; the first may be being written.
  std::optional<Logs> came_live_;  // Guarded by mutex_: look for past logs.
  uint64_t looks_ = 0;             // Guarded by mutex_: calls of OnOtherLog.
  bool idle_ = false;              // Guarded by mutex_: there is nothing to do.
  bool waits_ = false;             // Guarded by mutex_: Begin has not been called.

  // The following members are used by the thread only.
  std::optional<Logs> logs_;
  bool look_for_logs_ = false;
  std::set<int32_t> unverified_;  // Dates of old logs that are kept, and were reported.
  std::set<int32_t> compared_;    // Days whose partitions agree with their logs.
  // Which tables the partition lacks that was written or checked last, and why; empty: none.
  std::string lacks_;
  std::vector<Blocked> blocked_;
  // Past days that the next look at the logs tries again. Reported as blocked until it is over.
  std::vector<Blocked> retried_;
  int64_t next_blocked_ns_ = 0;
  std::vector<EndedDay> written_;  // Days in memory that the hdb must be notified of.
  std::optional<int32_t> newest_;  // Newest date with a partition.
  bool hdb_is_behind_ = false;
  bool hdb_may_be_behind_ = false;  // Another process may have written a day.
  bool hdb_is_silent_ = false;      // It did not take the last message about such days.
  int64_t next_write_ns_ = 0;       // Earliest MonotonicNs of the next attempt.
  int64_t next_hdb_ns_ = 0;
  std::thread thread_;  // Last: it uses the rest.
};

}  // namespace tickstack::rdb
