#pragma once

// A process's environment with the rights of one client. Tables that the client may not query do
// not exist in it, and functions that change the process need the right to administer. What the
// process's functions and values tell of other tables is left out of their answers:
//
//   `.tier.of[]`, a table with a column `table`        the rows of these tables
//   `.rdb.stale[]`, a dictionary by table              their entries
//   `.Q.pt`, symbols that are all names of tables      their names
//   `.hdb.problems[]`, a text or texts                 the texts, which may name any table

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/language/environment.h"
#include "query/language/named_parameters.h"
#include "security/user_rights.h"

namespace tickstack::serve {

// Returns the answer without its texts, such as errors, which may name any table: a text, or those
// among the items of a list or of a dictionary.
Value WithholdTexts(Value answer);

// Both arguments of the constructor must outlive it. Threads: as query::Environment.
class GuardedEnvironment final : public query::Environment, public query::NamedParameters {
 public:
  GuardedEnvironment(query::Environment& process, const security::Access& access)
      : process_(process), access_(access) {}

  std::optional<Snapshot> FindTable(std::string_view name) override;
  std::shared_ptr<const query::StoredTable> FindStored(std::string_view name) override;
  std::shared_ptr<const query::RemoteTable> FindRemote(std::string_view name) override;
  std::vector<std::string> TableNames() override;
  int64_t NowNs() override { return process_.NowNs(); }
  std::optional<Value> FindValue(std::string_view name) override;
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override;
  bool Changes(std::string_view name, std::span<const Value> args) override {
    return process_.Changes(name, args);
  }
  absl::Status Refusal(std::string_view name) override;
  std::vector<std::string> FunctionNames() override { return process_.FunctionNames(); }
  std::vector<std::string> ParametersOf(std::string_view name) override {
    auto* const named = dynamic_cast<query::NamedParameters*>(&process_);
    return named == nullptr ? std::vector<std::string>{"x"} : named->ParametersOf(name);
  }
  std::vector<std::string> ValueNames() override;
  query::ProcessFacts Facts() override { return process_.Facts(); }

 private:
  bool MayQuery(std::string_view name) const;
  bool HasTable(std::string_view name);
  absl::Status CheckTablesIn(std::span<const Value> args);
  Value WithoutHidden(Value value);

  query::Environment& process_;
  const security::Access& access_;
};

}  // namespace tickstack::serve
