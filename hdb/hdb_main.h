#pragma once

// The process of the HDB: its options, and the function that the command line calls.

#include <string>

#include "s3/archive_access.h"
#include "serve/health.h"
#include "serve/query_settings.h"
#include "wire/listener_options.h"

namespace tickstack::hdb {

struct HdbMainOptions : serve::QuerySettings {
  std::string name = "hdb";
  wire::ListenerOptions listener;
  serve::HealthLimits health;
  size_t cache_bytes = 0;  // Cache of decompressed columns; 0: a quarter of the machine's memory.
  std::string database;    // The directory; a stack's default is DATA/hdb.
  s3::ArchiveSettings archive;  // `[hdb.tiers]`.
};

// Runs until SIGTERM or SIGINT and returns 0; 1 if it could not listen. A database that does not
// exist yet, or cannot be loaded, has no tables; .hdb.problems[] and the log say so, and a later
// reload finds it. Blocks.
int RunHdb(const HdbMainOptions& options);

}  // namespace tickstack::hdb
