#pragma once

// The clients of a query set on the wire: connections to the rdb, and the timers of those who ask
// when it is due.
//
// They have a thread and an event loop of their own, beside that of the monitor: a large answer
// that is read here must not make the monitor late with a sample, which it would take for a late
// row.
//
// Threads: as each function says.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "monitor/client_group.h"
#include "monitor/query_set.h"
#include "monitor/question_text.h"
#include "wire/address.h"

namespace tickstack::monitor {

struct QueryClientsOptions {
  QuerySet set;
  wire::Address rdb;
  int64_t query_ns = 300'000'000;  // For open loops that do not say how often.
  SymbolActivity symbols;          // Empty: the rdb is asked, if anybody asks for symbols.
  bool wait = false;               // Nobody asks before Begin.
};

class QueryClients {
 public:
  // Connects, and starts the thread. Nobody asks before all have been connected, and the symbols
  // are known if somebody asks for them.
  explicit QueryClients(QueryClientsOptions options);
  ~QueryClients();
  QueryClients(const QueryClients&) = delete;
  QueryClients& operator=(const QueryClients&) = delete;

  // ---- Any thread.

  void Begin();  // Measuring begins (anew), as ClientGroup::Begin.
  void End();    // As ClientGroup::End.
  // After End: whatever was asked has its answer.
  bool is_idle() const { return idle_.load(std::memory_order_relaxed); }
  uint64_t answers() const { return answers_.load(std::memory_order_relaxed); }
  uint64_t errors() const { return errors_.load(std::memory_order_relaxed); }

  // ---- The owner's thread.

  // Ends the connections and the thread; what was found, by client in the set's order. Once.
  std::vector<ClientResult> Stop();

 private:
  class Impl;

  // Since Begin; written by the clients' thread. Each is a number for whoever watches.
  std::atomic<uint64_t> answers_{0}, errors_{0};
  std::atomic<bool> idle_{false};
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack::monitor
