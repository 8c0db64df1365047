#pragma once

// Helpers for the tests of this folder: values as text, and an environment with tables.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mem/tier.h"
#include "query/columns/stored_table.h"
#include "query/query.h"
#include "query/remote/remote_table.h"
#include "table/symbols.h"
#include "table/table.h"
#include "table/value.h"

namespace tickstack::query {

// Returns a value as a q literal that shows its type: `1 2h`, `` `a`b!1 2 ``, `([k:`a`b]v:1 2)`, ``
// `long$() ``. A vector of one item is written `,1`. Attributes are omitted.
std::string Show(const Value& value);

// Returns a table with the rows of `table`, which may be keyed, as an rdb would capture them. The
// column `sym` gets an index.
std::shared_ptr<Table> Capture(std::string_view name, const Value& table, SymbolTable& symbols,
                               mem::Tier& tier, size_t rows_per_chunk);

// An environment with captured tables, values and two functions: `.t.echo` returns its arguments as
// a list, and `.t.fail` returns an error.
class TestEnvironment : public Environment {
 public:
  TestEnvironment() : TestEnvironment(mem::MakeDramTier("test")) {}
  // Captures tables into `tier`.
  explicit TestEnvironment(std::unique_ptr<mem::Tier> tier) : tier_(std::move(tier)) {}

  // Captures the table that `expression` evaluates to. `schema_name` is the table's name in its
  // schema; empty: `name`.
  void CaptureTable(std::string_view name, std::string_view expression, size_t rows_per_chunk = 64,
                    std::string_view schema_name = "");
  // Adds a captured table that has the rows of the captured tables `parts`, in that order.
  void JoinTables(std::string_view name, std::vector<std::string> parts);
  // Adds a stored table.
  void AddStored(std::string_view name, std::shared_ptr<const StoredTable> table);
  void SetValue(std::string_view name, Value value);

  std::optional<Snapshot> FindTable(std::string_view name) override;
  std::shared_ptr<const StoredTable> FindStored(std::string_view name) override;
  std::vector<std::string> TableNames() override;
  int64_t NowNs() override { return 434'448'000'000'000'123; }  // 2013.10.07D08:00:00.000000123
  std::optional<Value> FindValue(std::string_view name) override;
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override;
  std::vector<std::string> FunctionNames() override { return {".t.echo", ".t.fail"}; }
  std::vector<std::string> ValueNames() override;
  ProcessFacts Facts() override { return {5010, "tickstack", {"rdb", "--port", "5010"}, 2, 30}; }

  // Evaluates an expression or another request. Returns the text of the result from Show, or the
  // error as q prints it, such as `'type`.
  std::string Ask(std::string_view expression, const Limits& limits = {});
  std::string AskRequest(const Value& request, const Limits& limits = {});

 private:
  std::unique_ptr<mem::Tier> tier_;
  SymbolTable symbols_;
  std::map<std::string, std::shared_ptr<Table>, std::less<>> tables_;
  std::map<std::string, std::vector<std::string>, std::less<>> joined_;
  std::map<std::string, std::shared_ptr<const StoredTable>, std::less<>> stored_;
  std::map<std::string, Value, std::less<>> values_;
};

// An environment whose tables are the captured ones of another process: a query over them is sent
// to that process as far as possible (remote/remote_query.h), and the rest is evaluated here.
class GatewayTo final : public Environment {
 public:
  // `process` must outlive the environment, and every table of it.
  explicit GatewayTo(TestEnvironment& process) : process_(process) {}

  std::optional<Snapshot> FindTable(std::string_view) override { return std::nullopt; }
  std::shared_ptr<const RemoteTable> FindRemote(std::string_view name) override;
  std::shared_ptr<const StoredTable> FindStored(std::string_view name) override {
    return process_.FindStored(name);
  }
  std::vector<std::string> TableNames() override { return process_.TableNames(); }
  int64_t NowNs() override { return process_.NowNs(); }
  std::optional<Value> FindValue(std::string_view name) override {
    return process_.FindValue(name);
  }
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override {
    return process_.Call(name, args);
  }
  std::vector<std::string> FunctionNames() override { return process_.FunctionNames(); }
  std::vector<std::string> ValueNames() override { return process_.ValueNames(); }
  ProcessFacts Facts() override { return process_.Facts(); }

  std::string Ask(std::string_view expression, const Limits& limits = {});

 private:
  class Remote;
  TestEnvironment& process_;
};

// Adds trades and quotes of two symbols over four minutes: as captured tables `trade` and `quote`,
// and as values `vtrade` and `vquote`.
void AddSampleTables(TestEnvironment& environment);

}  // namespace tickstack::query
