#pragma once

// Writes the checksums of existing files: of tables that kdb+ wrote, or in which kdb+ changed a
// column.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/worker_pool.h"
#include "disk/storage.h"

namespace tickstack::disk {

struct ChecksumWriterOptions {
  // Applies to a file that does not match its checksums although no program has written it since
  // they were made. False: it is an error. True: the file gets new checksums.
  bool accept_damage = false;
  WorkerPool* workers = nullptr;  // Must not be nullptr.
};

struct ChecksumsWritten {
  uint64_t written = 0;    // Number of checksum files that were written.
  uint64_t unchanged = 0;  // Number of checksum files that were already correct.
  uint64_t bytes = 0;      // Number of bytes that were read.
  // The errors of tables and domains whose checksums were not written.
  std::vector<std::string> errors;
};

// Writes checksums for one table, if `directory` has a `.d`; otherwise for the domains and all
// tables of the database in `directory`. A checksum file is replaced by a rename. Readers use the
// new file after they open the table again. Errors: those of opening the database; all others are
// in ChecksumsWritten::errors. Cost: reads all files once, on all threads.
absl::StatusOr<ChecksumsWritten> WriteChecksums(const std::string& directory,
                                                const ChecksumWriterOptions& options,
                                                const Storage& storage);

}  // namespace tickstack::disk
