#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "gateway/replicas.h"
#include "gateway/watch.h"
#include "query/query.h"
#include "serve/process_facts.h"
#include "serve/query_counters.h"

namespace tickstack::gateway {

struct GatewayCounters {
  std::atomic<uint64_t> whole{0};  // Requests that one process answered as a whole.
  std::atomic<uint64_t> parts{0};  // Queries that were sent for a request that is evaluated here.
  std::atomic<uint64_t> moved{0};  // Queries that found that a day had moved to the other side.
};

// What queries of a gateway can access: the tables of the processes behind it, and
//   date                  the days of all of them
//   .gateway.stats[]      dictionary of longs: GatewayCounters, QueryCounters
//   .gateway.replicas[]   table: a row per process: side address urgent state (live,
//                         doubtful, behind or silent) under_way answers failures hedged
// Threads: any.
class GatewayEnvironment : public query::Environment {
 public:
  // nullptr: there is no such side. Both must outlive the environment.
  GatewayEnvironment(Replicas* last, Replicas* past, const Clock* clock)
      : last_(last), past_(past), watch_(last, past), clock_(clock) {}

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
  class Table;
  Value ReplicaTable() const;
  // Asks an rdb about the rows that it has. While a day is being written, the rdb that writes it
  // has its rows, too; those with the fewest days are asked, so that answers do not alternate.
  absl::StatusOr<Value> AskLast(const Contents& contents, const Value& request, bool only_reads,
                                const query::Limits& limits, std::vector<bool> may);
  Replicas* On(Side side) const { return side == Side::kPast ? past_ : last_; }

  Replicas* const last_;
  Replicas* const past_;
  Watch watch_;
  const Clock* const clock_;
  GatewayCounters counters_;
  serve::QueryCounters queries_;
  serve::ProcessFacts facts_;
};

}  // namespace tickstack::gateway
