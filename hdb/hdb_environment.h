#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "hdb/hdb.h"
#include "query/query.h"
#include "serve/process_facts.h"
#include "serve/query_counters.h"

namespace tickstack::hdb {

// What queries of an HDB can access: its tables, and
//   date                    the values of the partitions; in a database by month, year or number,
//                           the variable has that name
//   holidays                a table or another value in a file in the root, by its name
//   .Q.pf .Q.pv .Q.pt       the partition column's name, its values, the partitioned tables
//   .Q.PV .Q.pn             the values again; row counts by table, of which none are kept
//   \l . and .hdb.reload[]  load the database as it is on disk now, and answer when it is loaded:
//                           what kdb+'s rdb sends at the end of a day
//   .hdb.stats[]            dictionary of longs: the loaded parts, reloads, the memory of
//                           decompressed columns (disk/decompressed_image.h), mappings
//                           (base/mapping.h), QueryCounters
//   .hdb.problems[]         strings: what the last load omitted, and why
// Threads: any.
class HdbEnvironment : public query::Environment {
 public:
  HdbEnvironment(Hdb* hdb, const Clock* clock) : hdb_(hdb), clock_(clock) {}

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
  // Counters for the code that evaluates queries here.
  serve::QueryCounters& queries() { return queries_; }
  // Returns `.hdb.stats[]`; its `problems` are those of the last load only, so that this is quick.
  Value QuickStats() const { return StatsWith(hdb_->load_problems().size()); }

 private:
  bool IsReload(std::string_view name, std::span<const Value> args) const;
  absl::StatusOr<Value> Reload();
  Value StatsWith(size_t problems) const;

  Hdb* const hdb_;
  const Clock* const clock_;
  serve::QueryCounters queries_;
  serve::ProcessFacts facts_;
};

}  // namespace tickstack::hdb
