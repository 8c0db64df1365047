#pragma once

// Today's rows in memory: the tables, and the effects of upds, replays and ends of day on them. It
// has no sockets and no clock of its own: tplog/subscriber.h drives it from the wire,
// tplog/log_replay.h from a log.
//
// Threads: the ingest thread calls the functions that are marked so; meanwhile any other thread may
// read tables, counters and latency. A reader takes a mutex only while it copies pointers or a
// histogram; everything else is shared through atomics. So no query delays an upd.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/duration_buckets.h"
#include "base/histogram.h"
#include "base/logging.h"
#include "base/name_map.h"
#include "base/string_map.h"
#include "base/time.h"
#include "rdb/durable_state.h"
#include "rdb/ended_day.h"
#include "rdb/placement_rules.h"
#include "table/schema.h"
#include "table/symbols.h"
#include "table/table.h"
#include "tplog/position.h"
#include "tplog/subscribed_state.h"
#include "wire/upd.h"
#include "wire/upd_rows.h"

namespace tickstack::rdb {

using tplog::LiveOutcome;

// The tables of an rdb at one moment. Rows are added to them afterwards, but none is emptied,
// replaced or dropped. Threads: any.
struct TablesOfRdb {
  NameMap<std::shared_ptr<const Table>> current;
  std::optional<int32_t> day;  // That of `current`; nullopt while a day ends.
  std::vector<EndedDay> kept;  // Ended days, in order of date.

  // As Rdb::FindTable and Rdb::FindTableOfDay.
  std::optional<Snapshot> Find(std::string_view name) const;
  std::optional<Snapshot> FindOfDay(std::string_view name, int32_t date) const;
  std::vector<std::string> Names() const;  // Sorted.
};

struct RdbOptions {
  TableOptions table;
  // True: the first upd of a table that no tickerplant announced creates the table. This is for
  // reading a log without its tickerplant. The table's schema is the one in `known_schemas` if the
  // upd fits it. Otherwise the columns have the types of the upd's columns, and their names or, in
  // an upd without names, x, x1, x2 ...
  bool infer_schemas = false;
  std::vector<Schema> known_schemas = {};
  // With tables in a persistent tier, the minimum time between two commits; 0 commits after each
  // published message.
  int64_t commit_ns = 0;
};

// The values of `.rdb.stats[]`. Written by the ingest thread, read by any.
struct RdbCounters : tplog::SubscriptionCounters {
  std::atomic<uint64_t> seq{0};       // Number of log messages that are applied, if known.
  std::atomic<uint64_t> messages{0};  // Upds that the tickerplant published.
  std::atomic<uint64_t> rows{0};      // Rows that were accepted from `messages`.
  std::atomic<uint64_t> messages_replayed{0};
  std::atomic<uint64_t> rows_replayed{0};
  std::atomic<uint64_t> rows_prestressed{0};
  std::atomic<uint64_t> rows_known{0};    // Replayed rows that had been applied already.
  std::atomic<uint64_t> upds_refused{0};  // Damaged, or with types that do not fit.
  std::atomic<uint64_t> rows_refused{0};  // A tier or a table was full.
  // 1 if the tables lack rows of their log that were refused or could not be replayed.
  std::atomic<uint64_t> incomplete{0};
  std::atomic<uint64_t> rows_moved{0};      // To the tier of older rows, by the mover.
  std::atomic<uint64_t> moves_refused{0};   // Because that tier was full.
  std::atomic<uint64_t> upds_unknown{0};    // Upds of unannounced tables.
  std::atomic<uint64_t> messages_other{0};  // Neither upd nor end of day.
  std::atomic<uint64_t> days_ended{0};
  std::atomic<uint64_t> days_written{0};  // Into the database, by the keeper of days.
  std::atomic<uint64_t> day_errors{0};    // Failed attempts of the keeper of days.
  std::atomic<uint64_t> day_done{0};  // Newest day that a database and its hdb have: NumberOfDate.
};

class Rdb final : public tplog::SubscribedState {
 public:
  // The placement's tiers and `clock` must outlive the Rdb, and it must outlive every snapshot of
  // its tables.
  Rdb(const RdbOptions& options, Placement placement, const Clock* clock);

  // Sets the keeper that gets each day when it ends; without one its rows are dropped. Call it
  // before the first message. The keeper must outlive the ingest thread.
  void KeepDays(DayKeeper* keeper) { keeper_ = keeper; }

  // ---- The ingest thread.

  // Adds rows that are not in the log to an existing table; call it before the first message.
  // prestress.h explains why. `x` is the encoded third item of an upd. The rows do not count as
  // messages and are left out of the latency. Errors: kNotFound if there is no such table, and
  // those of Table::Append.
  absl::Status Prestress(std::string_view table, std::span<const std::byte> x);
  // Restores tables in a persistent tier as the previous process committed them. Must be called
  // before all other functions. If there are tables in volatile tiers as well, position() is the
  // start of the log, so that those can be filled again; messages of restored tables are skipped
  // until the log reaches the position of their commit.
  void Reopen();
  // Commits everything, including the index, before the process ends.
  void MakeDurable();
  // Commits everything and gives the persistent tier to another process, which may open it then
  // (mem::PersistentTier::Release). Queries still see the tables. Until ReclaimTier, no other
  // function of the ingest thread may be called. After an error nothing has changed. No effect
  // without a persistent tier.
  absl::Status GiveTier();
  // Takes the tier back as it was given, without what the other process added. After an error the
  // tables must not be changed any more. kUnavailable if that process has the tier still.
  absl::Status ReclaimTier(std::chrono::nanoseconds at_most);
  bool gave_tier() const { return gave_tier_; }
  // Commits if rows are uncommitted and a commit is due. The ingest thread calls it while no
  // message arrives, since otherwise only messages cause commits.
  void OnIdle();

  // Creates missing tables. If a schema changed, empties all tables and sets the position to the
  // start of the log, which may have rows for the new schema. Logs an error, once, for each key of
  // the placement that names no table or column of these schemas; this cannot be checked earlier,
  // because only the tickerplant knows its tables.
  void OnSchemas(std::span<const Schema> schemas) override;
  // Receives a message that the tickerplant published: (`upd; `table; x), (`upd; `table; x; number)
  // or (`.u.end; date). Refused rows are counted, and logged at most once per second.
  LiveOutcome OnLive(std::span<const std::byte> body) override;
  // Receives message number position().seq() of the log. Does not compare the message's first item
  // with `upd`, because other writers of logs may use another name there.
  void OnLogged(std::span<const std::byte> body) override;
  // Notes that the log is damaged in a way that a replay does not see, so that the tables may lack
  // rows: those of at least `messages` messages.
  void NoteMissing(uint64_t messages);
  // Empties the tables and resets the position, because another log follows. A table that has only
  // rows of Prestress keeps them. Snapshots stay valid.
  void StartOver() override;
  Position& position() override { return position_; }
  tplog::SubscriptionCounters& subscription() override { return counters_; }
  uint64_t LeastLogSeq() override { return refilling_ ? refilling_->seq() : position_.seq(); }
  uint64_t FurthestSeq() override { return (refilling_ ? *refilling_ : position_).FurthestSeq(); }
  bool OutlivesProcess() const override { return durable_ != nullptr; }
  // The log that position() belongs to, if it is known.
  const LogIdentity& log() const override { return log_; }
  void SetLog(LogIdentity log) override {
    NoteLog(std::move(log));
    uncommitted_ = true;
  }

  void OnReplayDone() override;

  // ---- Any thread.

  // Returns the table's rows, after those of ended days that are still kept. A keyed table includes
  // a kept day only if its keys contain a time, so that no key occurs twice.
  std::optional<Snapshot> FindTable(std::string_view name) const { return tables()->Find(name); }
  // Returns a table's rows of one day: of an ended day that is still kept, or of the current one.
  // nullopt: there is no such table, or the day is not here.
  std::optional<Snapshot> FindTableOfDay(std::string_view name, int32_t date) const {
    return tables()->FindOfDay(name, date);
  }
  // Returns all tables as of now. Cost: a copy of a pointer.
  std::shared_ptr<const TablesOfRdb> tables() const;
  // Returns the ended days that are still kept or awaited and the current one, ascending, each
  // once. The current one is known from the log's name; it is left out if that has no date.
  std::vector<int32_t> Days() const;
  // Sets the ended days that are not here, because only their logs have them, and not known to be
  // in the database that the hdb has loaded. Queries for them are errors.
  void SetAwaitedDays(std::vector<int32_t> days);
  // Returns the tables of ended days that are still kept, in order of date, then those of today;
  // each once.
  std::vector<std::shared_ptr<const Table>> AllTables() const;
  // Drops the tables of a kept day, which are in the database now. Later queries do not see them
  // here.
  void DropDay(const EndedDay& day);
  // Returns for how long, in ms, each table has lacked rows that it refused.
  NameMap<int64_t> stale_ms() const;
  // Sets why the newest blocked day cannot be written; nullopt: no day is blocked.
  void SetBlockedDay(std::optional<BlockedDay> day);
  std::optional<BlockedDay> blocked_day() const;
  size_t days_kept() const;
  std::vector<std::string> TableNames() const { return tables()->Names(); }
  RdbCounters& counters() { return counters_; }
  const RdbCounters& counters() const { return counters_; }
  // Upds that were damaged or of other types, since the tables were created.
  struct RefusedUpds {
    uint64_t messages = 0;
    uint64_t rows = 0;                     // Rows of the readable messages.
    uint64_t first_seq = 0, last_seq = 0;  // Message numbers in the log.
    std::string why;                       // Error of the first message.
  };
  // Number of tables whose refused or unknown rows are counted.
  static constexpr size_t kTablesToldMax = 1000;
  // By table, for a bounded number of tables. For the ingest thread.
  const NameMap<RefusedUpds>& refused_upds() const { return refused_upds_; }
  // Rows of unannounced tables, by table, for a bounded number of tables.
  const NameMap<uint64_t>& unknown_rows() const { return unknown_rows_; }
  const SymbolTable& symbols() const { return symbols_; }
  const Placement& placement() const { return placement_; }
  // nullptr if the tables end with the process.
  const DurableState* durable() const { return durable_.get(); }
  // Returns the latencies of rows: from the timestamp in a row's column `time` until queries could
  // see the row. Counts published upds of tables that have such a column and no key, without rows
  // that are more than a day old, because those are history and not late. `reset` then empties the
  // histogram.
  Histogram Latency(bool reset);
  // Returns the same latencies since the process started. `reset` does not affect them.
  DurationBuckets::Counts LatencyBuckets() const { return latency_buckets_.Read(); }

 private:
  struct Entry {
    std::string name;
    std::shared_ptr<Table> table;
    int time_column = -1;
    size_t prestressed = 0;  // Rows added before the first message.
    bool durable = false;    // True if it is in a persistent tier.
  };
  struct Taken {
    std::string_view table;
    uint64_t rows = 0;   // Rows of the message.
    uint64_t known = 0;  // Rows among them that had been taken before.
    uint64_t added = 0;
  };
  enum class Source : uint8_t { kPublished, kLog };

  std::optional<Taken> TakeUpd(std::span<const std::byte> body, Source source);
  Entry* EntryFor(std::string_view name, const wire::UpdView& upd);
  std::optional<Schema> SchemaFor(std::string_view name, const wire::UpdView& upd);
  absl::Status MakeTable(const Schema& schema);
  void AddTable(std::shared_ptr<Table> table);
  void EndDay(std::span<const std::byte> body);
  void NoteLog(LogIdentity log);
  void RefillVolatileTables();
  absl::Status Commit(DurableTables::Index index);
  void CommitIfDue(int64_t at_least_ns);
  void DropTable(std::string_view name);
  // Replaces the tables by a copy that `change` has changed.
  template <typename F>
  void ChangeTables(F change);
  void DropUnannounced(std::span<const Schema> schemas);
  void ReportMisplaced(std::string_view key, std::span<const Schema> schemas);
  void SetIncomplete(bool incomplete) {
    counters_.incomplete.store(incomplete ? 1 : 0, std::memory_order_relaxed);
  }
  void NoteStale(std::string_view table);
  void CountRefused(std::string_view table, const absl::Status& why, uint64_t rows);
  void Refuse(std::string_view table, const absl::Status& why, uint64_t rows);
  void RecordLatency(const BatchView& batch, size_t time_column);
  void CountSeq() { counters_.seq.store(position_.seq(), std::memory_order_relaxed); }

  const RdbOptions options_;
  const Placement placement_;
  const Clock* const clock_;
  DayKeeper* keeper_ = nullptr;
  SymbolTable symbols_;
  RdbCounters counters_;

  // The following members are used by the ingest thread only.
  NameMap<std::unique_ptr<Entry>> entries_;
  Position position_;
  LogIdentity log_;
  std::unique_ptr<DurableState> durable_;
  // Position of the restored tables, while earlier messages are replayed for volatile tables.
  std::optional<Position> refilling_;
  bool gave_tier_ = false;            // Another process has the persistent tier.
  bool reopened_ = false;             // The tables were restored, and no schema was announced yet.
  bool uncommitted_ = false;          // Rows were taken since the last commit.
  uint64_t missing_before_ = 0;       // messages_missing when the tables were created.
  uint64_t tables_refused_rows_ = 0;  // Rows that a full tier kept out of the current tables.
  wire::UpdDecoder decoder_;
  wire::UpdRows upd_rows_;
  NameMap<uint64_t> unknown_rows_;  // Rows of unannounced tables, for a bounded number of them.
  NameMap<RefusedUpds> refused_upds_;
  StringSet misplaced_;  // Keys of the placement that were reported.
  LogLimit refused_limit_;

  std::mutex changing_mutex_;  // Held while the tables are replaced; taken before tables_mutex_.
  mutable std::mutex tables_mutex_;
  // Guarded by tables_mutex_; replaced as a whole.
  std::shared_ptr<const TablesOfRdb> tables_ = std::make_shared<const TablesOfRdb>();
  // MonotonicNs of the first refused row of each table. Guarded by tables_mutex_.
  NameMap<int64_t> refused_since_;
  std::vector<int32_t> awaited_;       // Guarded by tables_mutex_.
  std::optional<BlockedDay> blocked_;  // Guarded by tables_mutex_.
  std::mutex latency_mutex_;
  Histogram latency_;                // Guarded by latency_mutex_.
  DurationBuckets latency_buckets_;  // Written by the ingest thread.
};

}  // namespace tickstack::rdb
