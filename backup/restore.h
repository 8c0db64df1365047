#pragma once

// Puts a backup back into an empty place.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "backup/manifest.h"

namespace tickstack::backup {

struct RestoreOptions {
  std::string source;  // The directory of a backup.
  std::string data;    // The new data directory: absent, or empty.
};

// Copies every file of the backup and compares it with its checksum. The files appear in `data` all
// at once, by a rename, and are durable then.
//
// kNotFound: no backup. kDataLoss: the backup is damaged; names the file. kFailedPrecondition: the
// data directory is not empty. After an error there is no data directory that was not there before.
absl::StatusOr<Manifest> Restore(const RestoreOptions& options);

// Compares every file of a backup with its checksum, and changes nothing. Errors: as Restore.
absl::StatusOr<Manifest> VerifyBackup(const std::string& source);

}  // namespace tickstack::backup
