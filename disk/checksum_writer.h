#pragma once

// Writes the checksums of files that are there already: of tables that kdb+ wrote, or in which it
// changed a column.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/worker_pool.h"
#include "disk/storage.h"

namespace tickstack::disk {

struct ChecksumWriterOptions {
  // False: a file that nobody wrote since its checksums, and that does not match them, is an error.
  // True: it gets new checksums.
  bool accept_damage = false;
  WorkerPool* workers = nullptr;  // Must not be nullptr.
};

struct ChecksumsWritten {
  uint64_t written = 0;             // Checksum files.
  uint64_t unchanged = 0;           // Checksum files that were right.
  uint64_t bytes = 0;               // That were read.
  std::vector<std::string> errors;  // Of tables and domains that were left as they were.
};

// Writes checksums for one table, if `directory` has a `.d`; otherwise for the domains and all
// tables of the database in `directory`. A checksum file is replaced by a rename. Readers use it
// once they open the table again. Errors: those of opening the database; others are in the result.
// Cost: reads everything once, by all threads.
absl::StatusOr<ChecksumsWritten> WriteChecksums(const std::string& directory,
                                                const ChecksumWriterOptions& options,
                                                const Storage& storage);

}  // namespace tickstack::disk
