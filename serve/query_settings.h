#pragma once

// The options about queries of a process, as flags and configuration have them.

#include <cstddef>

#include "serve/query_service.h"
#include "wire/listener_options.h"

namespace tickstack::serve {

// The flags of a process that answers queries, and the keys of its section of stack.toml.
struct QuerySettings {
  // Threads that evaluate, besides the socket thread and the ingest thread. May exceed the number
  // of cores: a short query needs a free thread to make progress beside long ones.
  int query_threads = 4;
  int query_helpers = -1;       // Threads that help them; -1: one less than the machine has cores.
  int query_nice = 10;          // Nice value of these threads, 0 to 19; the ingest thread has 0.
  double query_timeout_s = 0;   // 0: none.
  double query_slow_ms = 1000;  // An evaluation that takes longer is logged; 0: none.
  size_t query_max_bytes = 0;   // Bytes one may build; 0: its tier's size, or 1 GiB in DRAM.
  size_t query_unread_bytes = 0;       // Bytes of all unread answers; 0: twice query_max_bytes.
  double query_unread_timeout_s = 60;  // Then a client that reads nothing is dropped; 0: never.
};

// Returns the options of the service, without a scratch tier.
QueryServiceOptions ServiceOptionsOf(const QuerySettings& settings,
                                     const wire::ListenerOptions& listener);

}  // namespace tickstack::serve
