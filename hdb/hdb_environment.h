#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "hdb/hdb.h"
#include "query/query.h"
#include "serve/process_facts.h"
#include "serve/query_counters.h"
#include "serve/request_environments.h"

namespace tickstack::hdb {

// What queries of an HDB can access: its tables, and
//   date                    the values of the partitions; in a database by month, year or number,
//                           the variable is called `month`, `year` or `int`
//   holidays                any table or other value that is a file in the root, by its name
//   .Q.pf .Q.pv .Q.pt       the partition column's name, its values, the partitioned tables
//   .Q.PV                   the same as .Q.pv
//   .Q.pn                   for each partitioned table, an empty list: no row counts are stored
//   \l . and .hdb.reload[]  load the database as it is on disk now, and answer when it is loaded;
//                           kdb+'s rdb sends `\l .` at the end of a day
//   .hdb.stats[]            dictionary of longs: the loaded parts, reloads, the memory of
//                           decompressed columns (disk/decompressed_image.h), mappings
//                           (base/mapping.h), QueryCounters
//   .hdb.problems[]         strings: what the last load omitted, and why
//
// A request sees one loaded database: that of its beginning, or the one that it loads itself.
//
// Threads: any.
class HdbEnvironment : public query::Environment, public serve::RequestEnvironments {
 public:
  HdbEnvironment(Hdb* hdb, const Clock* clock) : hdb_(hdb), clock_(clock) {}

  std::unique_ptr<query::Environment> ForRequest() override;
  std::optional<Snapshot> FindTable(std::string_view) override { return std::nullopt; }
  std::shared_ptr<const query::StoredTable> FindStored(std::string_view name) override;
  std::vector<std::string> TableNames() override;
  int64_t NowNs() override { return clock_->NowNs(); }
  std::optional<Value> FindValue(std::string_view name) override;
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override;
  bool Changes(std::string_view name, std::span<const Value> args) override;
  std::vector<std::string> FunctionNames() override;
  std::vector<std::string> ValueNames() override;
  query::ProcessFacts Facts() override { return facts_.Get(); }
  serve::ProcessFacts& facts() { return facts_; }
  // Counters of queries. The code that evaluates a query in this environment must update them.
  serve::QueryCounters& queries() { return queries_; }
  // Returns the result of `.hdb.stats[]`, except that `problems` counts only Hdb::load_problems(),
  // so that the call is quick.
  Value QuickStats() const { return StatsWith(hdb_->load_problems().size()); }

 private:
  class OfRequest;

  bool IsReload(std::string_view name, std::span<const Value> args) const;
  absl::StatusOr<Value> Reload();
  Value StatsWith(size_t problems) const;

  Hdb* const hdb_;
  const Clock* const clock_;
  serve::QueryCounters queries_;
  serve::ProcessFacts facts_;
};

}  // namespace tickstack::hdb
