#pragma once

// The q that clients may send: a string or a list arrives, a Value or an error goes back. docs/q.md
// lists the subset; what lies outside it is the error `nyi` with the token at fault, never a wrong
// result.
//
// Source of the meaning of every expression: the public reference, code.kx.com/q/ref.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "base/worker_pool.h"
#include "table/table.h"
#include "table/value.h"

namespace tickstack::query {

class StoredTable;

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

  // Variables of the process, such as `.u.i`; `.u` itself as a dictionary, so that `.u `i`L` works.
  virtual std::optional<Value> FindValue(std::string_view name);
  // Functions of the process, such as `.u.sub` and `.rdb.stats`. A text that begins with a
  // backslash is a call of `system` with the rest of it. `f[]` passes one argument, the
  // generic null. nullopt: there is no function of that name, and nothing has happened.
  virtual std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                                    std::span<const Value> args);
};

// Bounds on one evaluation. They hold against hostile text: what would pass one is an error before
// the memory or the stack is used.
struct Limits {
  int max_depth = 200;  // Of nesting, and of operators in a row: `stack`.
  // Of evaluation: expressions within expressions, over all calls of lambdas that are under way.
  // `stack`.
  int max_levels = 2000;
  size_t max_text_bytes = size_t{1} << 20;    // `limit`.
  size_t max_result_bytes = size_t{1} << 30;  // Of the result and of each step of it: `limit`.
  // Where the large blocks of results and temporaries live; nullptr: malloc's. The result's may be
  // freed by any thread. One that is full is the error `limit: scratch
  // memory NAME is full`.
  ScratchMemory* scratch = nullptr;
  // With a scratch memory, what stays in DRAM all the same: lists, and blocks below
  // kLargeBlockBytes. `limit`.
  size_t max_dram_bytes = size_t{1} << 30;
  // Threads that help with this evaluation and, at the same time, with others; nullptr: it runs on
  // its caller's thread alone. Answers are the same for any number of them.
  WorkerPool* workers = nullptr;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* cancelled = nullptr;  // Either of these two ends it with `stop`.
};

// For a process that answers on the thread that does its work: enough for what subscribers and
// operators ask, too little to be felt. 50 levels, 16 KiB of text, 32 MiB, 20 ms from now.
Limits LoopLimits();

// Evaluates the expressions of a text, `;` between them, and returns the last one's value; the
// generic null for an empty text.
//
// Errors:  a Status whose QErrorText() is what q would signal and whose message says more. Codes:
//          kInvalidArgument, kNotFound (a name without a value), kUnimplemented (nyi),
//          kResourceExhausted (a limit). An error of Environment::Call is passed on unchanged.
// Threads: reentrant; keeps no state between calls.
absl::StatusOr<Value> Evaluate(std::string_view text, Environment& environment,
                               const Limits& limits = {});

// Evaluates a request as it came off the wire:
//   "text"                   Evaluate()
//   (f; x; y...)             f applied to the values: f is a string or char (text of an expression,
//                            often a name or a lambda), a symbol (a name) or a function
//   `f`x`y                   the same: a list of symbols collapses to a vector on its way here
//   `name                    the value of that name
//   anything else            itself
absl::StatusOr<Value> EvaluateRequest(const Value& request, Environment& environment,
                                      const Limits& limits = {});

// The text of an error as it goes on the wire behind byte 0x80: `type`, `length`, `rank`, `nyi:
// wj`, `limit`, `stop`, a name without a value... The whole message for an error that was not made
// here.
std::string QErrorText(const absl::Status& status);

}  // namespace tickstack::query
