#pragma once

// Moves the column files of a stored table to an object store, and back:
//
//   1  trade/.archiving        names the objects that will be written: synced
//   2  objects                 written; read back, and compared with the table's checksums
//   3  trade/.archiving  ->  trade/.archived
//   4  trade/time, ...         removed
//
// The table's directory, `.d`, `.checksums` and small files stay where they are, so partitions and
// rows are found as before, and reads of a column that is not there go to the store
// (archived_bytes.h). Until step 3 the objects are unused; from then on the local files are. A
// repeated call finishes what a killed one left: before step 3 it removes the objects and begins
// anew, afterwards it does step 4.
//
// To recall a table:
//
//   1  trade/time, ...         fetched, compared, synced, renamed into place
//   2  trade/.archived  ->  trade/.recalled
//   3  objects                 removed, and then `.recalled`: only if asked for
//
// Each archiving of a table has keys of its own, so no two tables ever share an object. Only if the
// same table is archived again, unchanged, its objects of before are compared and used again.
//
// Threads: one writer, who holds the lock of the database. Readers may read the table meanwhile:
// they find each column in one of the two places.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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
  StorageObserver* observer = nullptr;  // For tests.
};

struct ArchivedTable {
  uint64_t files = 0;  // Files of this table that are in the store now.
  uint64_t bytes = 0;
  bool has_changed = false;  // False if it was archived before, or all its files are small.
};

// Archives the table in a directory of a partition. kFailedPrecondition if it has no checksums, or
// if a file was changed meanwhile. kDataLoss if a local file or an object does not match its
// checksums. After any error before step 3, the table is as it was, except for objects and a
// `.archiving` that the next call removes.
// Cost: reads each file twice, writes and reads each object once.
absl::StatusOr<ArchivedTable> ArchiveTable(const std::string& directory,
                                           const ArchiveOptions& options);

struct RecalledTable {
  uint64_t files = 0;  // Files that were fetched.
  uint64_t bytes = 0;
  uint64_t deleted_objects = 0;
};

// Recalls a table, if it is archived. With `delete_objects`, also removes the objects that it no
// longer needs: a running hdb that has not reloaded since may still read from them, and gets an
// error. kDataLoss if an object does not match the table's checksums: the table stays archived.
absl::StatusOr<RecalledTable> RecallTable(const std::string& directory,
                                          const ArchiveOptions& options, bool delete_objects);

}  // namespace tickstack::disk
