#pragma once

// Writes days that are over into a database, beside the capture of the next one:
//
//   ingest thread   .u.end: tables frozen, new ones -------------------- capture goes on ----->
//   this thread               | write the partition | tell the hdb | drop the day |
//
// The files on disk say what remains to be done. A day is complete when its partition exists, which
// appears by one rename. A process that dies before the rename writes the day again at its next
// start:
//
//   died before       at the next start                              where the rows come from
//   the rename        the day's log has no partition: written        the log
//   the hdb knew      a partition is there: nothing, and an hdb
//                     that starts later loads it anyway
//
// Days are written in order. A try that fails (a full disk) is repeated after a pause, and the day
// stays in memory and visible until then. A day blocks, and no other day with it, where only a
// person can help:
//
//   its partition is there with other rows (a part of the day was written before, from an open log)
//   memory lacks rows of it, and its log is damaged or gone
//   its log has rows of a table that the tickerplant does not have, or of other types
//
// A blocked day waits in memory, or in its log. It is tried again when its partition, its log or
// the schemas change. Nothing is written in place of a whole day: no half a day, and no day without
// the rows that did not fit.
//
// The hdb is told by the message that kdb+'s own rdb sends, the text `\l .`, and asked again until
// it has answered; only then the tables are dropped.
//
// Logs are removed when they are older than keep_logs_days, VerifyAgainstLog agrees, and every file
// of the partition is sound (CheckPartition): a log is the only other copy of its day.
//
// Threads: the ingest thread calls the DayKeeper's; everything else happens on a thread of this
// class, which has a higher nice value.

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
  // Where the tickerplant's logs are; empty: where it says. Where they cannot be read, days in
  // memory are written all the same.
  std::string log_folder;
  std::string hdb;  // host:port; empty: nobody is told.
  CompressionRules compression;
  int threads = 3;  // That write. One of three waits for the disk, as a rule.
  int nice = 10;
  size_t memory_bytes = size_t{160} << 20;  // PartitionWriterOptions has it.
  int keep_logs_days = -1;                  // -1: for ever.
  int64_t retry_ns = 5 * kNsPerSecond;
  int64_t hdb_timeout_ns = 10 * kNsPerSecond;
  StorageObserver* observer = nullptr;  // Observes the writes; may be nullptr.
};

class EndOfDay final : public DayKeeper {
 public:
  // `rdb` outlives this, and counts what happens here.
  EndOfDay(EndOfDayOptions options, Rdb* rdb);
  // Gives up what it is at; the next start finishes it.
  ~EndOfDay() override;

  void OnDayEnded(EndedDay day) override;
  void OnGoneLive(const std::string& log_path, std::vector<Schema> schemas) override;

  // Waits until everything that is known to be to do is done, or waits for a person, or the time is
  // over: false.
  bool WaitUntilIdle(int64_t at_most_ns);

 private:
  // Lets no step of a write happen any more once this is stopping.
  class Stopper final : public StorageObserver {
   public:
    explicit Stopper(EndOfDay* owner) : owner_(owner) {}
    absl::Status Before(StorageStep step, const std::string& path, size_t bytes) override;

   private:
    EndOfDay* const owner_;
  };
  // What the tickerplant's logs are called, which is being written, and what is in them.
  struct Logs {
    std::string folder;
    std::string name;
    int32_t current = 0;
    std::vector<Schema> schemas;
  };

  struct Blocked {
    int32_t date;
    std::optional<EndedDay> day;  // nullopt: only its log has it.
    std::string stamp;            // StampOf when it was looked at; empty: look again.
    std::string why;
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
  absl::Status WriteOrCheck(int32_t date, std::span<const Snapshot> tables,
                            std::string_view source);
  absl::Status Write(int32_t date, std::span<const Snapshot> tables);
  absl::Status CheckWritten(int32_t date, std::span<const Snapshot> tables,
                            std::string_view source) const;
  // `source`: where the day is written from, "memory" or "its log".
  absl::Status IsAnotherDays(const absl::Status& why, std::string_view source) const;
  absl::Status WaitsForLog(const absl::Status& why,
                           std::span<const std::shared_ptr<const Table>> tables,
                           const std::string& log) const;
  DayLog LogOf(int32_t date) const;
  void CompareWithLog(const std::string& partition, const DayLog& log);
  std::string StampOf(int32_t date) const;
  void Block(int32_t date, std::optional<EndedDay> day, std::string stamp, const absl::Status& why);
  void RetryBlocked();
  bool IsBlocked(int32_t date) const;
  void PublishBlocked();
  void PublishDone();
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
  std::atomic<bool> stopping_ = false;  // A flag that publishes nothing.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<EndedDay> ended_;     // Guarded by mutex_; the first may be being written.
  std::optional<Logs> came_live_;  // Guarded by mutex_: past logs are to be looked for.
  bool idle_ = false;              // Guarded by mutex_: nothing is to be done.

  // The thread's own.
  std::optional<Logs> logs_;
  bool look_for_logs_ = false;
  std::set<int32_t> unverified_;  // Logs that are not removed, which was said.
  std::set<int32_t> compared_;    // Days whose partitions have what their logs have.
  std::vector<Blocked> blocked_;
  int64_t next_blocked_ns_ = 0;
  std::vector<EndedDay> written_;  // Days in memory that the hdb must be notified of.
  std::optional<int32_t> newest_;  // Newest date with a partition.
  bool hdb_is_behind_ = false;
  bool hdb_may_be_behind_ = false;  // Another process may have written a day.
  int64_t next_write_ns_ = 0;       // Earliest MonotonicNs of the next attempt.
  int64_t next_hdb_ns_ = 0;
  std::thread thread_;  // Last: it uses the rest.
};

}  // namespace tickstack::rdb
