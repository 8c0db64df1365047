#pragma once

#include <cstddef>

#include "serve/query_service.h"
#include "wire/listener_options.h"

namespace tickstack::serve {

// What a process that answers queries is told about them: its flags and its part of stack.toml.
struct QuerySettings {
  // Besides the socket thread, and that which ingests. More than cores are fine: the kernel shares
  // those, and a short query needs a free thread to get its share beside long ones.
  int query_threads = 4;
  int query_helpers = -1;       // Threads that help them; -1: one less than the machine has cores.
  int query_nice = 10;          // How all of them stand back for who ingests: 0 to 19.
  double query_timeout_s = 0;   // 0: none.
  double query_slow_ms = 1000;  // An evaluation that takes longer is logged; 0: none.
  size_t query_max_bytes = 0;   // What one may build; 0: its tier's size, 1 GiB in DRAM.
  size_t query_unread_bytes = 0;       // What answers may hold until read; 0: twice that.
  double query_unread_timeout_s = 60;  // Then who does not read is cut off; 0: never.
};

// The same as the service wants it, without a scratch tier.
QueryServiceOptions ServiceOptionsOf(const QuerySettings& settings,
                                     const wire::ListenerOptions& listener);

}  // namespace tickstack::serve
