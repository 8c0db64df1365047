#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "table/table.h"
#include "table/value.h"

namespace tickstack::query {

class StoredTable;

// Facts about the process for `.z` and the reporting system commands.
struct ProcessFacts {
  int port = 0;                        // Listening port; 0: none.
  std::string program;                 // `.z.f`
  std::vector<std::string> arguments;  // `.z.x`
  int threads = 0;                     // Threads that help an evaluation, `\s`.
  int64_t timeout_s = 0;               // Limit on a query's time, `\T`; 0: none.
};

// Returns program and arguments from the system.
ProcessFacts FactsOfThisProcess();

// Everything that an expression can access; it has no access to files, other processes or the
// network. Variables that it assigns belong to the request. Each process that answers queries
// implements this interface.
//
// Threads: one evaluation calls it from one thread; an implementation that is shared between
// threads does its own locking.
class Environment {
 public:
  virtual ~Environment() = default;

  // Returns the current state of a captured table. An evaluation asks once per mention, so two
  // mentions of a table in one expression may see different row counts, each a prefix of whole
  // batches.
  virtual std::optional<Snapshot> FindTable(std::string_view name) = 0;
  // Returns a stored table; nullptr if there is none. A captured table of the same name takes
  // precedence.
  virtual std::shared_ptr<const StoredTable> FindStored(std::string_view name);
  virtual std::vector<std::string> TableNames() = 0;  // Sorted: the answer to `tables[]`.
  virtual int64_t NowNs() = 0;                        // `.z.p`, ns since 2000-01-01 UTC.

  // Variables of the process, such as `.u.i`.
  virtual std::optional<Value> FindValue(std::string_view name);
  // Functions of the process, such as `.u.sub` and `.rdb.stats`. A request such as `\l .`
  // arrives as a call of `system` with the text after the backslash. `f[]` passes one argument, the
  // generic null. Returns nullopt, without effect, if there is no function of that name.
  virtual std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                                    std::span<const Value> args);

  // True if a call of Call changes the process, and not only what it answers. An implementation
  // lists what only reads: what it does not know changes something.
  virtual bool Changes(std::string_view name, std::span<const Value> args);
  // Returns why a name that was not found may not be used; OK if there is nothing of that name.
  virtual absl::Status Refusal(std::string_view name);

  // Return the full names, such as `.rdb.stats`, of the functions that Call knows and of the values
  // that FindValue knows, for queries of a namespace.
  virtual std::vector<std::string> FunctionNames();
  virtual std::vector<std::string> ValueNames();
  virtual ProcessFacts Facts();
};

}  // namespace tickstack::query
