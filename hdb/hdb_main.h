#pragma once

#include <string>

#include "serve/query_settings.h"
#include "wire/listener_options.h"

namespace tickstack::hdb {

struct HdbMainOptions : serve::QuerySettings {
  std::string name = "hdb";
  wire::ListenerOptions listener;
  size_t cache_bytes = 0;  // Of decompressed columns; 0: a quarter of the machine's memory.
  std::string database;    // The directory; a stack's is DATA/hdb if it is not told another.
};

// Runs until SIGTERM or SIGINT: 0. 1 if it could not listen. A database that is not there yet, or
// does not load, is one without tables, which .hdb.problems[] and the log say: the first reload
// after it came finds it. Blocks.
int RunHdb(const HdbMainOptions& options);

}  // namespace tickstack::hdb
