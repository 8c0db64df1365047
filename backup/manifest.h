#pragma once

// What a backup consists of: the file `manifest` in its directory. It is replaced last, by a
// rename, so it always describes files that are there, also if a later backup was interrupted:
//
//   tickstack backup 1 crc32c 0a1b2c3d        of everything below
//   {"time_ns": ..., "generation": 3, "files": [
//     {"path": "tplog/sym2020.03.09", "stored": "tplog/sym2020.03.09", "bytes": 123456,
//      "crc32c": 305419896, "changed_ns": ...}, ...], "messages": {"tplog/sym2020.03.09": 789}}
//
// A file that only grows keeps its name; the manifest says how many of its bytes count. A file that
// was replaced is stored under another name, `PATH~GENERATION`, until the new manifest is there.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::backup {

inline constexpr char kManifestName[] = "manifest";

struct StoredFile {
  std::string path;    // In the data directory.
  std::string stored;  // In the backup's directory.
  uint64_t bytes = 0;
  uint32_t crc = 0;        // CRC32C of these bytes.
  int64_t changed_ns = 0;  // The original's last change, ns since 1970.
};

struct Manifest {
  int64_t time_ns = 0;                       // When the backup was made, ns since 2000 UTC.
  uint64_t generation = 0;                   // Number of backups before it into this directory.
  std::map<std::string, StoredFile> files;   // By path.
  std::map<std::string, uint64_t> messages;  // The number in each indexed log, by path.
};

// nullopt if the directory has none. kDataLoss, with the file, if it is damaged, has a version that
// this program does not know, or names a path outside of its directory.
absl::StatusOr<std::optional<Manifest>> ReadManifest(const std::string& directory);
// Replaces it; durable when it returns.
absl::Status WriteManifest(const std::string& directory, const Manifest& manifest);

}  // namespace tickstack::backup
