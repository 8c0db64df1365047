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
// Errors: kNotFound if there is no backup; kDataLoss, with the file, if the backup is damaged;
// kFailedPrecondition if the data directory is not empty. An error leaves `data` as it was.
absl::StatusOr<Manifest> Restore(const RestoreOptions& options);

// Compares every file of a backup with its checksum, and changes nothing. Errors: as Restore.
absl::StatusOr<Manifest> VerifyBackup(const std::string& source);

}  // namespace tickstack::backup
