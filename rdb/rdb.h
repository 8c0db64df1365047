#pragma once

// Today in memory: the tables, and what upds, replays and ends of day do to them. No sockets, no
// clock of its own: wire/subscriber.h drives it from the wire, wire/log_replay.h from a log.
//
// Threads: one thread ingests and calls what is marked so; any other thread may look at the tables,
// counters and latency meanwhile. They meet in published row counts, in atomics, and in two mutexes
// that are held for the copy of a pointer or of a histogram: no query delays an upd.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/histogram.h"
#include "base/logging.h"
#include "base/string_map.h"
#include "base/time.h"
#include "rdb/durable_state.h"
#include "rdb/ended_day.h"
#include "rdb/placement.h"
#include "table/schema.h"
#include "table/symbols.h"
#include "table/table.h"
#include "wire/position.h"
#include "wire/subscribed_state.h"
#include "wire/upd.h"
#include "wire/upd_rows.h"

namespace tickstack::rdb {

using wire::LiveOutcome;

struct RdbOptions {
  TableOptions table;
  // A table that nobody announced is made by the first upd that names it, as for a log without its
  // tickerplant. It gets its schema of `known_schemas` if the upd fits that one. Otherwise columns
  // are named as the upd names them, or x, x1, x2 ..., and have the upd's types.
  bool infer_schemas = false;
  std::vector<Schema> known_schemas = {};
  // With tables in a persistent tier, the minimum time between two commits; 0 commits after each
  // published message.
  int64_t commit_ns = 0;
};

// What `.rdb.stats[]` answers. Written by the ingest thread, read by any.
struct RdbCounters : wire::SubscriptionCounters {
  std::atomic<uint64_t> seq{0};       // Log messages that are here, as far as it is known.
  std::atomic<uint64_t> messages{0};  // Upds that were published to us.
  std::atomic<uint64_t> rows{0};      // Rows of those that were taken.
  std::atomic<uint64_t> messages_replayed{0};
  std::atomic<uint64_t> rows_replayed{0};
  std::atomic<uint64_t> rows_prestressed{0};
  std::atomic<uint64_t> rows_known{0};    // Rows of the log that were here already.
  std::atomic<uint64_t> upds_refused{0};  // Damaged, or not of their table's types.
  std::atomic<uint64_t> rows_refused{0};  // A tier or a table was full.
  // 1: the tables lack rows of their log, which they refused or which could not be replayed.
  std::atomic<uint64_t> incomplete{0};
  std::atomic<uint64_t> upds_unknown{0};    // Of tables that nobody announced.
  std::atomic<uint64_t> messages_other{0};  // Neither upd nor end of day.
  std::atomic<uint64_t> days_ended{0};
  std::atomic<uint64_t> days_written{0};  // Into the database, by the keeper of days.
  std::atomic<uint64_t> day_errors{0};    // What it could not do, each try counted.
  std::atomic<uint64_t> day_done{0};  // The newest that a database and its hdb have: NumberOfDate.
};

class Rdb final : public wire::SubscribedState {
 public:
  // The placement's tiers and `clock` outlive the Rdb, and it outlives every snapshot of its
  // tables.
  Rdb(const RdbOptions& options, Placement placement, const Clock* clock);

  // Sets the keeper that gets each day when it ends; without one its rows are dropped. Call it
  // before the first message. The keeper must outlive the ingest thread.
  void KeepDays(DayKeeper* keeper) { keeper_ = keeper; }

  // ---- The ingest thread.

  // Adds rows that nobody logged, before the first message: see rdb/prestress.h. `x` as in an upd,
  // of a table that there is. They are no message, and late for nobody. Errors: kNotFound, and
  // Table::Append's.
  absl::Status Prestress(std::string_view table, std::span<const std::byte> x);
  // Of tables in a persistent tier: takes over what the last process committed. First of all. If
  // other tables are placed elsewhere, position() is the log's beginning again, for those: what is
  // here of the others is passed over until the log is where it was committed.
  void Reopen();
  // Commits what is not durable yet, with the index: before the process ends.
  void MakeDurable();
  // Commits if rows wait and it is time to: for when no message comes that would.
  void OnIdle();

  // Makes the tables that are not there yet. If the schema of one changed, all begin anew, empty
  // and at the log's beginning: the log may have rows for the new schema. A key of the placement
  // that names nothing of these schemas is logged as an error, once: configurations are checked
  // where they are read, but not against the tables of other people's tickerplants.
  void OnSchemas(std::span<const Schema> schemas) override;
  // A message that the tickerplant published: (`upd; `table; x) with or without a number, or
  // (`.u.end; date). What it is refused for is counted and logged, once a second.
  LiveOutcome OnLive(std::span<const std::byte> body) override;
  // Message position().seq() of the log. Any verb is an upd.
  void OnLogged(std::span<const std::byte> body) override;
  // Empties the tables, but for rows that were there before the first message if nothing has come
  // since, and forgets the position: another log follows. Snapshots stay valid.
  void StartOver() override;
  Position& position() override { return position_; }
  wire::SubscriptionCounters& subscription() override { return counters_; }
  uint64_t LeastLogSeq() override { return refilling_ ? refilling_->seq() : position_.seq(); }
  uint64_t FurthestSeq() override { return (refilling_ ? *refilling_ : position_).FurthestSeq(); }
  bool OutlivesProcess() const override { return durable_ != nullptr; }
  // The log that position() belongs to, as far as it is known.
  const LogIdentity& log() const override { return log_; }
  void SetLog(LogIdentity log) override {
    log_ = std::move(log);
    uncommitted_ = true;
  }

  void OnGoneLive() override;

  // ---- Any thread.

  // The table's rows; before them those of days that ended and are still kept. A table with a key
  // shows a kept day only if its keys name a time, so that no key is there twice.
  std::optional<Snapshot> FindTable(std::string_view name) const;
  // The tables of a kept day are elsewhere now: queries that begin from here on do not see them.
  void DropDay(const EndedDay& day);
  // Since when each table lacks rows that it refused: MonotonicNs of the first of them.
  StringMap<int64_t> refused_since() const;
  // What keeps the newest of the days that wait for a person from being written; nullopt: none
  // does.
  void SetBlockedDay(std::optional<BlockedDay> day);
  std::optional<BlockedDay> blocked_day() const;
  size_t days_kept() const;
  std::vector<std::string> TableNames() const;  // Sorted.
  RdbCounters& counters() { return counters_; }
  const RdbCounters& counters() const { return counters_; }
  // Upds that were damaged or not of their table's types, since the tables began.
  struct RefusedUpds {
    uint64_t messages = 0;
    uint64_t rows = 0;                     // Rows of the readable messages.
    uint64_t first_seq = 0, last_seq = 0;  // Message numbers in the log.
    std::string why;                       // Error of the first message.
  };
  // By table, of a bounded number of them. The ingest thread's.
  const StringMap<RefusedUpds>& refused_upds() const { return refused_upds_; }
  // Rows that came of tables that nobody announced, by table; of a bounded number of them.
  const StringMap<uint64_t>& unknown_rows() const { return unknown_rows_; }
  const SymbolTable& symbols() const { return symbols_; }
  const Placement& placement() const { return placement_; }
  // nullptr: the tables end with the process.
  const DurableState* durable() const { return durable_.get(); }
  // From a row's time to when it was visible, over all rows of published upds whose table has a
  // column `time` of timestamps and no key. Rows more than a day old are history that somebody
  // publishes, not late, and are left out. With `reset`, counting begins anew.
  Histogram Latency(bool reset);

 private:
  struct Entry {
    std::string name;
    std::shared_ptr<Table> table;
    int time_column = -1;
    size_t prestressed = 0;  // Rows that were there before the first message.
    bool durable = false;    // In a persistent tier.
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
  void RefillVolatileTables();
  void Commit(DurableTables::Index index);
  void CommitIfDue(int64_t at_least_ns);
  void DropTable(std::string_view name);
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

  // The ingest thread's own.
  StringMap<std::unique_ptr<Entry>> entries_;
  Position position_;
  LogIdentity log_;
  std::unique_ptr<DurableState> durable_;
  // Where the reopened tables stand, while the log before it is replayed for tables that end with a
  // process.
  std::optional<Position> refilling_;
  bool reopened_ = false;        // Tables are from the last process, and none was announced yet.
  bool uncommitted_ = false;     // Something was taken since the last commit.
  uint64_t missing_before_ = 0;  // messages_missing when the tables began.
  uint64_t tables_refused_rows_ = 0;  // Rows that a full tier kept out of the tables that are.
  wire::UpdDecoder decoder_;
  wire::UpdRows upd_rows_;
  StringMap<uint64_t> unknown_rows_;  // Of tables that nobody announced, a bounded number of them.
  StringMap<RefusedUpds> refused_upds_;
  StringSet misplaced_;  // Keys of the placement that were reported.
  LogLimit refused_limit_;

  mutable std::mutex tables_mutex_;
  StringMap<std::shared_ptr<const Table>> tables_;  // Guarded by tables_mutex_.
  StringMap<int64_t> refused_since_;                // Guarded by tables_mutex_.
  std::vector<EndedDay> kept_;                      // Guarded by tables_mutex_; in order of date.
  std::optional<BlockedDay> blocked_;               // Guarded by tables_mutex_.
  std::mutex latency_mutex_;
  Histogram latency_;  // Guarded by latency_mutex_.
};

}  // namespace tickstack::rdb
