#pragma once

// Moves the column files of a stored table to an object store, and back. To archive a table:
//
//   1  objects                 written, unless the store has them; read back, and compared with the
//                              table's checksums
//   2  trade/.archived         names them: written, synced, renamed into place
//   3  trade/time, ...         removed
//
// The table's directory, `.d`, `.checksums` and small files stay where they are, so partitions and
// rows are found as before, and reads of a column that is not there go to the store
// (archived_bytes.h). A command that is killed before step 2 leaves objects that nothing refers to,
// later local files that nothing needs; a repeated one uses these objects and removes these files.
//
// To recall a table:
//
//   1  trade/time, ...         fetched, compared, synced, renamed into place
//   2  trade/.archived         removed
//
// Objects are never removed, nor written again while they are right: backups and copies of the
// database may refer to them, as may an hdb that opened the table before. The keys of a table's
// objects contain a SHA-256 of its files, so tables whose files are equal share their objects, and
// different ones never do.
//
// Threads: one writer of a table. Readers may read the table meanwhile: they find each column in
// one of the two places.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "disk/archive_marker.h"
#include "disk/object_store.h"
#include "disk/storage.h"

namespace tickstack::disk {

struct ArchiveOptions {
  std::shared_ptr<ObjectStore> store;
  std::string prefix;  // What all keys begin with; empty, or letters, digits, `-`, `_`, `.`, `/`.
  // Size of an object, a multiple of kChecksumBlockBytes. A larger file is several objects.
  uint64_t object_bytes = uint64_t{256} << 20;
  // Files of at most this size stay local: fetching one costs a request, and storing it little.
  uint64_t keep_bytes = uint64_t{64} << 10;
  // Takes the lock of the database, which is held from step 2 on: objects may take long to write.
  // Empty: the caller has it.
  std::function<absl::StatusOr<File>()> lock;
  StorageObserver* observer = nullptr;  // For tests.
};

struct ArchivedTable {
  uint64_t files = 0;  // Files of this table that are in the store now.
  uint64_t bytes = 0;
  bool has_changed = false;  // False if it was archived before, or all its files are small.
};

// Archives the table in a directory of a partition. kFailedPrecondition if it has no checksums, if
// a file was changed meanwhile, or if a local file of an archived table differs from the archived
// one. kDataLoss if a local file or an object does not match its checksums. After any error before
// step 2, the table is as it was.
// Cost: reads each file; reads each object, and before that writes those that the store does not
// have; little for an archived table. Memory: an object.
absl::StatusOr<ArchivedTable> ArchiveTable(const std::string& directory,
                                           const ArchiveOptions& options);

struct RecalledTable {
  uint64_t files = 0;  // Files that were fetched.
  uint64_t bytes = 0;
  std::string objects;  // What the keys of its objects begin with; empty: it was not archived.
};

// Recalls a table, if it is archived. The caller has the lock of the database. kDataLoss if an
// object does not match the table's checksums: the table stays archived. kFailedPrecondition for
// another store, and for a local file that differs from the archived one.
absl::StatusOr<RecalledTable> RecallTable(const std::string& directory,
                                          const ArchiveOptions& options);

}  // namespace tickstack::disk
