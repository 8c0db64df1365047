#pragma once

// Knows what the processes behind a gateway have: which of them answer, which tables with which
// columns, and which days.
//
// Days move from the last side to the past one at the end of a day: first an hdb has the day, then
// the rdb that wrote it drops it. A pass of the watch therefore asks the rdbs first and the hdbs
// after their answers, and a day that both have counts as a past one: no day is missed, and none is
// taken twice. A day that the rdbs have dropped before an hdb is known to have it stays a day of
// the last side: an hdb may not have answered, or the rdb that writes days is none of these.
// Queries for it find no process that has it, and fail rather than omit its rows. Without hdbs, it
// is no day any more, nor is one after the newest of the rdbs: their tickerplant began anew with an
// earlier date.
//
// An rdb that still reads its log, or waits for its tickerplant, lacks tables and days, so its
// answers do not count. Those of an rdb with another map of shards do not either: the gateway would
// look for a symbol in the wrong shard.
//
// Threads: any may call Get and GetNewer. The watch has a thread, which owns the connections.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/name_map.h"
#include "gateway/link.h"
#include "gateway/replicas.h"
#include "query/remote/remote_table.h"
#include "table/shard_id.h"
#include "wire/event_loop.h"

namespace tickstack::gateway {

using Side = query::RemoteTable::Side;

struct TableShape {
  std::vector<std::string> columns;  // In their order, with `date` if there is one.
  size_t key_columns = 0;            // How many of them, from the first one on, are keys.
};

// What one process answered last. An rdb that still reads its log does not answer.
struct ProcessContents {
  bool has_answered = false;
  std::vector<int32_t> days;                 // Ascending.
  NameMap<std::vector<std::string>> tables;  // Columns by table, without `date`.
  NameMap<TableShape> shapes;                // By table.
  NameMap<std::string> symbol_columns;       // By table: `sym`, or the first one; if there is one.
  std::string blocked;                       // The newest day that an rdb cannot write.
  std::string failure;                       // Why it did not answer this time; empty: it did.
};

struct SideContents {
  std::vector<ProcessContents> processes;    // By replica.
  std::vector<int32_t> days;                 // Ascending; no day is on both sides.
  NameMap<std::vector<std::string>> tables;  // Those of all processes.
  NameMap<TableShape> shapes;
  NameMap<std::string> symbol_columns;
};

// The processes behind one tickerplant.
struct ShardContents {
  SideContents last, past;
  // Not OK: a side has never answered. Says which, and why.
  absl::Status status;
  // Not OK: a side did not answer in the last pass, so it may have days that are not known.
  absl::Status now;

  const SideContents& Of(Side side) const { return side == Side::kPast ? past : last; }
};

// Immutable.
struct Contents {
  std::vector<ShardContents> shards;
  std::vector<int32_t> days;  // Those of all shards, ascending.
  // Not OK: a side of a shard has never answered.
  absl::Status status;
};

// nullptr: there is no such side.
struct ShardReplicas {
  ShardId id;  // That of the rdbs, or they are not asked. Empty if there are no shards.
  std::unique_ptr<Replicas> last, past;

  Replicas* On(Side side) const { return side == Side::kPast ? past.get() : last.get(); }
};

class Watch {
 public:
  // A day, table or column that is added is known after this time.
  static constexpr std::chrono::milliseconds kPeriod{100};

  // At least one shard. They must outlive the watch.
  explicit Watch(std::span<const ShardReplicas> shards);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns what the last pass found. Waits for the first pass.
  std::shared_ptr<const Contents> Get();
  // Makes a pass, and waits for it.
  std::shared_ptr<const Contents> GetNewer();

 private:
  void Run();
  void Pass();
  // Asks the processes of one side of all shards, and takes the answers that come in time.
  void AskSide(Side side, std::vector<ShardContents>& shards);
  // A process, and the connection to it.
  struct Asked {
    size_t shard;
    size_t process;  // In Replicas.
    std::unique_ptr<Link> link;
    bool sent = false;  // In this pass.
  };
  std::vector<Asked> LinksOf(Side side);

  const std::span<const ShardReplicas> shards_;
  const Value last_question_, past_question_;  // Links refer to them until they are answered.

  // Used by the thread.
  wire::EventLoop loop_;
  std::vector<Asked> last_links_, past_links_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::shared_ptr<const Contents> contents_;
  uint64_t begun_ = 0, done_ = 0;  // Passes.
  bool wanted_ = false, stop_ = false;

  std::thread thread_;
};

}  // namespace tickstack::gateway
