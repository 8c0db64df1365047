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

class KeptNames;
class RemoteTable;
class StoredTable;
struct Limits;

// What is between a table's name and a date in the name of the table's rows of one day.
inline constexpr char kOfDay = '@';

// Facts about the process, for `.z` and for system commands such as `\p`.
struct ProcessFacts {
  int port = 0;                        // `\p`, listening port; 0: none.
  std::string program;                 // `.z.f`
  std::vector<std::string> arguments;  // `.z.x`
  int threads = 0;                     // `\s`, threads that help with an evaluation.
  int64_t timeout_s = 0;               // `\T`, time limit of a query in s; 0: none.
};

// Returns the program and its arguments, as the operating system knows them.
ProcessFacts FactsOfThisProcess();

// The tables, values and functions of the process that an expression can access. It cannot access
// files, other processes or the network. Variables that an expression assigns are not here: they
// belong to the request. Each process that answers queries implements this interface.
//
// Threads: one evaluation calls it from one thread. An implementation that several evaluations
//          share does its own locking.
class Environment {
 public:
  virtual ~Environment() = default;

  // Returns the current state of a captured table; nullopt if there is none. It has whole batches
  // only. An evaluation calls this for each mention of a table, so two mentions in one expression
  // may see different numbers of rows.
  virtual std::optional<Snapshot> FindTable(std::string_view name) = 0;
  // Returns a stored table; nullptr if there is none. A captured table of the same name takes
  // precedence.
  virtual std::shared_ptr<const StoredTable> FindStored(std::string_view name);
  // Returns a table of other processes; nullptr if there is none. Captured and stored tables take
  // precedence. Its days are those of this moment.
  virtual std::shared_ptr<const RemoteTable> FindRemote(std::string_view name);
  virtual std::vector<std::string> TableNames() = 0;  // Sorted: the answer to `tables[]`.
  virtual int64_t NowNs() = 0;                        // `.z.p`, ns since 2000-01-01 UTC.

  // Returns a variable of the process, such as `.u.i`; nullopt if there is none.
  virtual std::optional<Value> FindValue(std::string_view name);
  // Calls a function of the process, such as `.u.sub` or `.rdb.stats`. Returns nullopt, without
  // effect, if there is no function of that name. A request such as `\l .` is a call of `system`
  // with the text after the backslash. `f[]` passes one argument, the generic null.
  virtual std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                                    std::span<const Value> args);

  // True unless a call of Call with these arguments only reads from the process. An implementation
  // returns false for the functions that it knows to read only.
  virtual bool Changes(std::string_view name, std::span<const Value> args);
  // Returns the error for a name that exists but that this client may not use; OK if there is no
  // such name. Called for names that were not found.
  virtual absl::Status Refusal(std::string_view name);

  // Return the full names, such as `.rdb.stats`, of the functions that Call knows and of the values
  // that FindValue knows, for queries of a namespace.
  virtual std::vector<std::string> FunctionNames();
  virtual std::vector<std::string> ValueNames();
  virtual ProcessFacts Facts();

  // Returns the answer to a whole request if another process can give it; nullopt: it is evaluated
  // here. `names` are the variables that the client kept, or nullptr. Called only for clients that
  // may do everything. `limits.sink` may take the answer.
  virtual std::optional<absl::StatusOr<Value>> AnswerWhole(const Value& request,
                                                           const Limits& limits,
                                                           const KeptNames* names);
};

}  // namespace tickstack::query
