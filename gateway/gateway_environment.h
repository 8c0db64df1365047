#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/asker.h"
#include "gateway/replicas.h"
#include "gateway/watch.h"
#include "query/query.h"
#include "query/remote/remote_table.h"
#include "serve/process_facts.h"
#include "serve/query_counters.h"
#include "serve/request_environments.h"
#include "table/shard_map.h"

namespace tickstack::gateway {

struct GatewayCounters {
  std::atomic<uint64_t> whole{0};  // Requests that one process answered as a whole.
  std::atomic<uint64_t> parts{0};  // Queries that were sent for a request that is evaluated here.
  std::atomic<uint64_t> moved{0};  // Queries that found that a day had moved to the other side.
};

// What queries of a gateway can access: the tables of the processes behind it, and
//   date                  the days of all of them
//   .gateway.stats[]      dictionary of longs: GatewayCounters, QueryCounters
//   .gateway.replicas[]   table: a row per process: shard side address urgent state (live,
//                         doubtful, behind or silent) under_way answers failures hedged
// All tables and `date` have the same days in a request. A day that begins while the request is
// evaluated is for the next one.
// Threads: any.
class GatewayEnvironment : public query::Environment, public serve::RequestEnvironments {
 public:
  // `map` names the shards in their order; nullopt: there is one, without a name.
  GatewayEnvironment(std::vector<ShardReplicas> shards, std::optional<ShardMap> map,
                     const Clock* clock)
      : shards_(std::move(shards)), map_(std::move(map)), watch_(shards_), clock_(clock) {}

  std::unique_ptr<query::Environment> ForRequest() override;
  std::optional<Snapshot> FindTable(std::string_view) override { return std::nullopt; }
  std::shared_ptr<const query::RemoteTable> FindRemote(std::string_view name) override;
  std::vector<std::string> TableNames() override;
  int64_t NowNs() override { return clock_->NowNs(); }
  std::optional<Value> FindValue(std::string_view name) override;
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override;
  bool Changes(std::string_view, std::span<const Value>) override { return false; }
  absl::Status Refusal(std::string_view name) override;
  std::vector<std::string> FunctionNames() override;
  std::vector<std::string> ValueNames() override { return {"date"}; }
  query::ProcessFacts Facts() override { return facts_.Get(); }
  std::optional<absl::StatusOr<Value>> AnswerWhole(const Value& request,
                                                   const query::Limits& limits,
                                                   const query::KeptNames* names) override;

  serve::ProcessFacts& facts() { return facts_; }
  serve::QueryCounters& queries() { return queries_; }
  Value Stats() const;

 private:
  class OfRequest;
  class Table;
  class SpreadTable;
  struct Moment;
  Value ReplicaTable() const;
  std::shared_ptr<Moment> Now();
  std::shared_ptr<const query::RemoteTable> FindRemoteAt(const std::shared_ptr<Moment>& moment,
                                                         std::string_view name);
  // Returns a question to an rdb about the rows that it has. Not all rdbs begin a day at the same
  // time, and while a day is being written, the rdb that writes it has its rows, too. Of those with
  // the newest day, those with the fewest days are asked, so that answers do not alternate. `may`:
  // as in Question. `request` must live until the answer is there.
  static Question ForLast(Replicas& replicas, const SideContents& contents, const Value& request,
                          bool only_reads, std::vector<bool> may);

  // Asks for parts of a query, as query::RemoteTable::AskAll.
  std::vector<absl::StatusOr<Value>> AskParts(std::vector<query::RemoteTable::Part> parts,
                                              const query::Limits& limits);

  const std::vector<ShardReplicas> shards_;
  AskerPool askers_;
  const std::optional<ShardMap> map_;
  Watch watch_;
  const Clock* const clock_;
  GatewayCounters counters_;
  serve::QueryCounters queries_;
  serve::ProcessFacts facts_;
};

}  // namespace tickstack::gateway
