#pragma once

// The clients of a query set on the wire: connections to the rdb, and timers for open loops.
//
// They have their own thread and event loop, separate from the monitor's: reading a large answer
// here must not delay a sample of the monitor, which would look like a late row.
//
// Threads: as each function says.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "measure/clients/client_group.h"
#include "measure/clients/query_set.h"
#include "measure/clients/question_text.h"
#include "wire/address.h"

namespace tickstack::measure {

struct QueryClientsOptions {
  QuerySet set;
  wire::Address rdb;
  int64_t query_ns = 300'000'000;  // Mean interval of open loops without a rate of their own.
  SymbolActivity symbols;          // Empty: the rdb is asked for them, if any query needs symbols.
  bool wait = false;               // True: clients start to ask at Begin.
};

class QueryClients {
 public:
  // Connects, and starts the thread. Clients start to ask when all have connected, and when the
  // symbols are known, if any query needs them.
  explicit QueryClients(QueryClientsOptions options);
  ~QueryClients();
  QueryClients(const QueryClients&) = delete;
  QueryClients& operator=(const QueryClients&) = delete;

  // ---- Any thread.

  void Begin();  // (Re)starts the measurements, as ClientGroup::Begin.
  void End();    // Stops asking, as ClientGroup::End.
  // True after End, if every question has been answered.
  bool is_idle() const { return idle_.load(std::memory_order_relaxed); }
  uint64_t answers() const { return answers_.load(std::memory_order_relaxed); }
  uint64_t errors() const { return errors_.load(std::memory_order_relaxed); }

  // ---- The owner's thread.

  // Ends the connections and the thread, and returns the measurements by client in the set's order.
  // Call it once.
  std::vector<ClientResult> Stop();

 private:
  class Impl;

  // Counted since Begin; written by the clients' thread, read by any.
  std::atomic<uint64_t> answers_{0}, errors_{0};
  std::atomic<bool> idle_{false};
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack::measure
