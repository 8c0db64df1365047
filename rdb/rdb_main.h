#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/listener_options.h"

namespace tickstack::rdb {

struct RdbMainOptions {
  std::string name = "rdb";
  wire::ListenerOptions listener;
  std::string tickerplant = "127.0.0.1:5010";
  // Replays this log to its end and serves it, without a tickerplant.
  std::string replay;
  // Makes tables from the first upd that names them: for logs whose schemas nobody tells.
  bool infer_schemas = false;
  // Off: the log comes over the connection even where its file could be opened.
  bool read_log_file = true;
  size_t memory_bytes = SIZE_MAX;                // Bounds columns and index.
  size_t populate_bytes = size_t{64} << 20;      // Memory that is touched ahead of need.
  int query_threads = 1;                         // Besides the ingest and the socket thread.
  double query_timeout_s = 0;                    // 0: none.
  size_t max_message_bytes = size_t{256} << 20;  // Of a published upd.
  bool busy_poll = false;                        // The ingest thread never sleeps.
};

// Runs until SIGTERM or SIGINT: 0. 1 if it could not listen, or the log to replay is not readable
// or damaged. Blocks; the calling thread ingests.
int RunRdb(const RdbMainOptions& options);

}  // namespace tickstack::rdb
