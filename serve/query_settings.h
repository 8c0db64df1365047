#pragma once

// The options of a process about queries.

#include <cstddef>

#include "serve/query_service.h"
#include "wire/listener_options.h"

namespace tickstack::serve {

// Each member is a flag of a process that answers queries, and a key of its section in stack.toml.
struct QuerySettings {
  // Threads that evaluate, besides the socket thread and the ingest thread. May exceed the number
  // of cores: a short query needs a free thread to make progress beside long ones.
  int query_threads = 4;
  // Threads that all evaluations share for parallel steps; -1: one less than the machine has cores.
  int query_helpers = -1;
  int query_nice = 10;         // Nice value of all these threads, 0 to 19; the ingest thread has 0.
  double query_timeout_s = 0;  // 0: none.
  double query_slow_ms = 1000;  // An evaluation that takes longer is logged; 0: none.
  // Bytes that one evaluation may use; 0: the scratch tier's capacity, or 1 GiB without one.
  size_t query_max_bytes = 0;
  size_t query_unread_bytes = 0;  // Bytes of all unread answers; 0: twice query_max_bytes.
  // A client that has not read an answer after this time is disconnected; 0: never. See
  // QueryServiceOptions.
  double query_unread_timeout_s = 60;
};

// Returns the options of the service, without a scratch tier.
QueryServiceOptions ServiceOptionsOf(const QuerySettings& settings,
                                     const wire::ListenerOptions& listener);

}  // namespace tickstack::serve
