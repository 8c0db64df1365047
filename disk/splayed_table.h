#pragma once

// A table stored as one file per column:
//
//   trade/.d           the columns' names, in order
//   trade/time         one column; a nested one has time#, and may have time##
//   trade/.checksums   optional: checksums of all of these (checksum_file.h)

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "disk/column_file.h"
#include "disk/open_tables.h"
#include "disk/partition_versions.h"

namespace tickstack::disk {

// Immutable. A column is opened when it is first requested, and kept while the process has enough
// mappings (open_tables.h). If another version has replaced the table's partition since, columns
// are those of the replaced version (partition_versions.h). Threads: any. Files that `.d` does not
// name are not part of the table. Errors name the file.
class SplayedTable {
 public:
  // Reads `.d` and, if it exists, `.checksums`; all bytes of the table that are read later are
  // compared with these checksums. kNotFound if there is no `.d`. Cost: reading these files.
  static absl::StatusOr<std::shared_ptr<const SplayedTable>> Open(
      const std::string& directory, const std::shared_ptr<const SymbolDomains>& domains = nullptr);
  ~SplayedTable();

  const std::string& directory() const { return directory_; }
  // Returns the directory in which the table is now: another one than directory() if another
  // version has replaced its partition since it was opened. Empty if it was removed or moved. Cost:
  // as for FindVersion.
  std::string DirectoryNow() const;
  const SymbolDomains* domains() const { return domains_.get(); }  // nullptr if there are none.
  std::span<const std::string> column_names() const { return names_; }
  size_t columns() const { return names_.size(); }
  int Find(std::string_view column) const;  // -1 if there is none.

  // Returns the row count of the first column that can be opened. All columns that Column() returns
  // have this count. If no column can be opened, or the first fails with kUnavailable, returns the
  // error of the first. Cost: the first call opens that column.
  absl::StatusOr<uint64_t> Rows() const;

  // Returns column `i`, and opens it if necessary. The result keeps its mapping. An error (no file,
  // damage, a row count that differs from Rows()) concerns this column only, and is not remembered:
  // the next call tries again. kUnavailable if another directory has taken the table's place and
  // the table's own is not kept. kResourceExhausted if the process has no mappings left.
  absl::StatusOr<std::shared_ptr<const ColumnFile>> Column(size_t i) const;

  // Moves to `gone` the columns that nobody else holds. If a column was requested since the last
  // call, moves none, unless `used_too` is set.
  void Evict(bool used_too, std::vector<std::shared_ptr<const ColumnFile>>& gone) const;

 private:
  SplayedTable(std::string directory, const VersionId& id, std::vector<std::string> names,
               std::shared_ptr<const SymbolDomains> domains,
               std::shared_ptr<const ChecksumFile> checksums);
  static absl::StatusOr<std::shared_ptr<const SplayedTable>> OpenNow(
      const std::string& directory, const VersionId& id,
      const std::shared_ptr<const SymbolDomains>& domains);
  absl::StatusOr<std::shared_ptr<const ColumnFile>> OpenColumn(size_t i) const;
  absl::StatusOr<std::shared_ptr<const ColumnFile>> OpenColumnIn(const std::string& directory,
                                                                 size_t i) const;
  std::shared_ptr<const ColumnFile> FindOpen(size_t i) const;
  absl::StatusOr<std::shared_ptr<const ColumnFile>> OpenOnce(size_t i) const;

  const std::string directory_;
  const VersionId id_;  // The directory's when it was opened.
  const std::vector<std::string> names_;
  const std::shared_ptr<const SymbolDomains> domains_;
  const std::shared_ptr<const ChecksumFile> checksums_;  // nullptr if there are none.
  mutable std::mutex mutex_;  // Guards the next two; never held while a column is opened.
  mutable std::vector<std::shared_ptr<const ColumnFile>> files_;
  mutable std::vector<bool> is_opening_;  // True while a thread opens the column.
  mutable std::condition_variable opened_;
  mutable std::atomic<uint64_t> rows_{kRowsUnknown};  // Needs no ordering.
  // True if a column was requested since the last Evict. Needs no ordering.
  mutable std::atomic<bool> used_{false};
  static constexpr uint64_t kRowsUnknown = UINT64_MAX;
  const OpenTables::Entry entry_;  // Last: other threads may use the table once it exists.
};

}  // namespace tickstack::disk
