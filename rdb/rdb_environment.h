#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "query/query.h"
#include "rdb/rdb.h"
#include "serve/process_facts.h"
#include "serve/query_counters.h"
#include "serve/request_environments.h"
#include "table/shard_id.h"

namespace tickstack::rdb {

// What queries of an RDB can access: its tables, and
//   trade@2024.01.30        a table's rows of one day, if it is here; as a symbol:
//                           ?[`$"trade@2024.01.30";();0b;()]
//   .rdb.days[]             dates: ended days that are still here, or that are being written from
//                           their logs (TABLE@DATE is an error then), and the current one
//   .u.shard[]              dictionary of symbols: the shard and the map (table/shard_id.h)
//   .rdb.stats[]            dictionary of longs: RdbCounters, symbols and bytes, QueryCounters
//   .rdb.latency[]          dictionary of longs, ns: count min p50 p99 p999 max, see Rdb::Latency
//   .rdb.latency[`reset]    the same, and restarts counting
//   .rdb.checksum[`quote;n] long, over the rows from number n (0 if absent) on, see rdb/checksum.h
//   .tier.stats[]           table: a row per memory tier, see mem::TierStats; resident is the DRAM
//                           that it occupies
//   .tier.of[]              table: table, column, tier, bytes; a row per column and tier, and one
//                           for the index
//   .tier.of[`quote]        dictionary: column to tier, and `index` if the table has one
// A request sees the tables of its beginning, with the rows that are added to them. A day that ends
// or is handed over meanwhile takes none of them away.
//
// Threads: any.
class RdbEnvironment : public query::Environment, public serve::RequestEnvironments {
 public:
  RdbEnvironment(Rdb* rdb, const Clock* clock, ShardId shard = {})
      : rdb_(rdb), clock_(clock), shard_(std::move(shard)) {}

  std::unique_ptr<query::Environment> ForRequest() override;
  std::optional<Snapshot> FindTable(std::string_view name) override;
  std::vector<std::string> TableNames() override { return rdb_->TableNames(); }
  std::vector<std::string> FunctionNames() override;
  query::ProcessFacts Facts() override { return facts_.Get(); }
  serve::ProcessFacts& facts() { return facts_; }
  // Counters for the code that evaluates queries here.
  serve::QueryCounters& queries() { return queries_; }
  int64_t NowNs() override { return clock_->NowNs(); }
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override;
  bool Changes(std::string_view name, std::span<const Value> args) override;

 private:
  class OfRequest;

  Rdb* const rdb_;
  const Clock* const clock_;
  const ShardId shard_;
  serve::QueryCounters queries_;
  serve::ProcessFacts facts_;
};

}  // namespace tickstack::rdb
