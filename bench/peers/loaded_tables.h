#pragma once

// Tables that another program has generated, held as in an RDB: in memory, in order of arrival,
// indexed by symbol. LoadedTables also has values that queries find by name.
//
// The folder that is loaded has a file `tables` with a line for each table: its name, a space and
// its schema (`quote time n, sym s, bid e`). `quote.bid` has the little-endian elements of a
// column. A symbol column is a file of int32 numbers, and `quote.sym.names` has their names, one
// per line.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mem/tier.h"
#include "query/query.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack::bench {

// Threads: one owner loads and defines; afterwards any thread may query it.
class LoadedTables final : public query::Environment {
 public:
  // kInvalidArgument for an invalid schema, or for columns of a table with different row counts;
  // the error of a file that cannot be read.
  static absl::StatusOr<std::unique_ptr<LoadedTables>> Load(const std::string& directory);

  // Makes `value` available to queries as `name`.
  void Define(const std::string& name, Value value) { values_.insert_or_assign(name, value); }

  // Writes all tables as a date's partition, which the database must not have yet.
  absl::Status WriteTo(const std::string& database, int32_t date) const;

  std::optional<Snapshot> FindTable(std::string_view name) override;
  std::vector<std::string> TableNames() override;
  std::optional<Value> FindValue(std::string_view name) override;
  int64_t NowNs() override { return 0; }

 private:
  LoadedTables();
  absl::Status LoadTable(const std::string& directory, std::string_view line);

  std::unique_ptr<mem::Tier> tier_;
  SymbolTable symbols_;
  std::map<std::string, std::shared_ptr<Table>, std::less<>> tables_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace tickstack::bench
