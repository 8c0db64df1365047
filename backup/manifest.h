#pragma once

// The file `manifest` in the directory of a backup: a list of the files of the backup. It is
// replaced last, by a rename, so the files that it lists exist even if a later backup was
// interrupted:
//
//   tickstack backup 1 crc32c 0a1b2c3d        checksum of all following lines
//   {"time_ns": ..., "generation": 3, "files": [
//     {"path": "tplog/sym2020.03.09", "stored": "tplog/sym2020.03.09", "bytes": 123456,
//      "crc32c": 305419896, "changed_ns": ...}, ...], "messages": {"tplog/sym2020.03.09": 789}}
//
// A file that only grows keeps its name; bytes after the length in the manifest are ignored. The
// new version of a file that was replaced is stored under another name, such as `hdb~3/sym` in
// generation 3. The old version is removed after the new manifest is written.

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
  std::string path;    // Path below the data directory.
  std::string stored;  // Path below the backup's directory.
  uint64_t bytes = 0;
  uint32_t crc = 0;        // CRC32C of these bytes.
  int64_t changed_ns = 0;  // The original's last change, ns since 1970.
};

struct Manifest {
  int64_t time_ns = 0;                       // When the backup began, ns since 2000 UTC.
  uint64_t generation = 0;                   // 1 for the first backup into this directory.
  std::map<std::string, StoredFile> files;   // By path.
  std::map<std::string, uint64_t> messages;  // Number of messages in each indexed log, by path.
};

// Reads the manifest; nullopt if the directory has none. kDataLoss, with the file, if the manifest
// is damaged, has a version that this program does not know, or names a path outside its directory.
absl::StatusOr<std::optional<Manifest>> ReadManifest(const std::string& directory);
// Replaces the manifest. It is durable when this function returns.
absl::Status WriteManifest(const std::string& directory, const Manifest& manifest);

}  // namespace tickstack::backup
