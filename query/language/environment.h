#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "table/table.h"
#include "table/value.h"

namespace tickstack::query {

class StoredTable;

// What `.z` and the system commands that only report say of the process that is asked.
struct ProcessFacts {
  int port = 0;                        // That it listens on; 0: none.
  std::string program;                 // `.z.f`
  std::vector<std::string> arguments;  // `.z.x`
  int threads = 0;                     // That help an evaluation, `\s`.
  int64_t timeout_s = 0;               // That a query may take, `\T`; 0: no bound.
};

// Program and arguments as the system knows them.
ProcessFacts FactsOfThisProcess();

// What an expression can reach. Nothing else is reachable: no files, no processes, no network.
// Names that it assigns are the request's own. Each process that answers queries implements it.
//
// Threads: one evaluation calls it from one thread; an implementation that is shared between
// threads does its own locking.
class Environment {
 public:
  virtual ~Environment() = default;

  // A captured table as it is now. An evaluation asks once per name and mention, so two mentions of
  // a table in one expression may see different row counts, each a prefix of whole batches.
  virtual std::optional<Snapshot> FindTable(std::string_view name) = 0;
  // A stored table; nullptr: there is none of that name. A captured one of the same name goes
  // first.
  virtual std::shared_ptr<const StoredTable> FindStored(std::string_view name);
  virtual std::vector<std::string> TableNames() = 0;  // Sorted: the answer to `tables[]`.
  virtual int64_t NowNs() = 0;                        // `.z.p`, ns since 2000-01-01 UTC.

  // Variables of the process, such as `.u.i`.
  virtual std::optional<Value> FindValue(std::string_view name);
  // Functions of the process, such as `.u.sub` and `.rdb.stats`. A text that begins with a
  // backslash is a call of `system` with the rest of it. `f[]` passes one argument, the
  // generic null. nullopt: there is no function of that name, and nothing has happened.
  virtual std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                                    std::span<const Value> args);

  // Return the full names, such as `.rdb.stats`, of the functions that Call knows and of the values
  // that FindValue knows, for queries of a namespace.
  virtual std::vector<std::string> FunctionNames();
  virtual std::vector<std::string> ValueNames();
  virtual ProcessFacts Facts();
};

}  // namespace tickstack::query
