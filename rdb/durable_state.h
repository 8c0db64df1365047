#pragma once

// The state that an Rdb keeps in a persistent tier: its tables and, in the same commit, their
// position in the log.
//
//   Load     restores what the last process committed
//   Commit   commits: after a message if IsDue, after the tables were emptied, and before the
//            process ends
//
// A process that dies between two commits leaves the rows of the last commit, which are exactly
// those of the log up to its position. The rest is replayed from the log.
//
// Threads: one owner, the ingest thread; any thread may read the counters.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/logging.h"
#include "mem/persistent_tier.h"
#include "table/durable_tables.h"
#include "tplog/position.h"
#include "tplog/subscribed_state.h"

namespace tickstack::rdb {

using tplog::LogIdentity;
using tplog::Position;

struct DurableCounters {
  std::atomic<uint64_t> rows_reopened{0};    // Rows restored when the process started.
  std::atomic<uint64_t> reopen_us{0};        // Duration of restoring them.
  std::atomic<uint64_t> reopens_damaged{0};  // 1 if the tables were damaged when it started.
  std::atomic<uint64_t> rows_durable{0};     // Rows in the last commit, which a restart restores.
  std::atomic<uint64_t> commits_refused{0};  // Commits that failed: tier full or device broken.
};

class DurableState {
 public:
  // `commit_ns` is the commit interval: the time after a commit until the next one is due. 0: one
  // is due after every message. The tier must outlive this.
  DurableState(mem::PersistentTier* tier, int64_t commit_ns);

  struct Found {
    std::vector<std::shared_ptr<Table>> tables;
    Position position;
    LogIdentity log;
  };
  // Restores the state. `symbols` must be empty. Returns an empty result if there is no state, if
  // it is damaged, or if it lacks rows that a full tier refused. The process then replays the log,
  // which has all rows.
  Found Load(SymbolTable& symbols, const TableOptions& options);

  struct State {
    const SymbolTable* symbols;
    std::span<Table* const> tables;
    const Position* position;
    const LogIdentity* log;
    uint64_t rows_refused;  // Rows that a full tier refused since the tables were created.
  };
  // Commits the state. If that fails, the last commit stays valid; failures are counted, and logged
  // at most once per second.
  absl::Status Commit(const State& state,
                      DurableTables::Index index = DurableTables::Index::kWhenDue);
  // True if the commit interval, and at least `at_least_ns`, have passed since the last commit.
  // Cost: reads the clock.
  bool IsDue(int64_t at_least_ns = 0) const;

  mem::PersistentTier& tier() const { return store_.tier(); }
  const DurableCounters& counters() const { return counters_; }
  mem::PersistentTierStats CommitStats() const { return store_.tier().CommitStats(); }

 private:
  Found Discard(DurableTables::Found loaded, const SymbolTable& symbols);

  DurableTables store_;
  const int64_t commit_ns_;
  int64_t last_commit_ns_ = INT64_MIN / 2;
  ByteBuffer mark_;
  DurableCounters counters_;
  LogLimit refused_limit_;
};

}  // namespace tickstack::rdb
