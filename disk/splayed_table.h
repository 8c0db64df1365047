#pragma once

// A table stored as one file per column:
//
//   trade/.d           the columns' names, in order
//   trade/time         one column; a nested one has time#, and may have time##
//   trade/.checksums   optional: checksums of all of these (checksum_file.h)

#include <atomic>
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

namespace tickstack::disk {

// Immutable. A column is opened when it is first requested, and kept while the process has enough
// mappings (open_tables.h). Threads: any. Files that `.d` does not name are not part of the table.
// Errors name the file.
class SplayedTable {
 public:
  // Reads `.d`, and `.checksums` if there is one: then everything that is read of the table is
  // compared with it. kNotFound if there is no `.d`. Cost: these files.
  static absl::StatusOr<std::shared_ptr<const SplayedTable>> Open(
      std::string directory, std::shared_ptr<const SymbolDomains> domains = nullptr);
  ~SplayedTable();

  const std::string& directory() const { return directory_; }
  std::span<const std::string> column_names() const { return names_; }
  size_t columns() const { return names_.size(); }
  int Find(std::string_view column) const;  // -1 if there is none.

  // Returns the row count of the first column that can be opened; all columns that Column() returns
  // have the same. The first column's error if none can be opened. Cost: opens that column, once.
  absl::StatusOr<uint64_t> Rows() const;

  // Returns column `i`, and opens it if necessary. The result keeps its mapping. An error (no file,
  // damage, another row count than the table's) concerns that column only and is found anew by
  // every call. kResourceExhausted if the process has no mappings left.
  absl::StatusOr<std::shared_ptr<const ColumnFile>> Column(size_t i) const;

  // Moves columns without holders to `gone`. If any column was requested since the last call, does
  // so only with `used_too`.
  void Evict(bool used_too, std::vector<std::shared_ptr<const ColumnFile>>& gone) const;

 private:
  SplayedTable(std::string directory, std::vector<std::string> names,
               std::shared_ptr<const SymbolDomains> domains,
               std::shared_ptr<const ChecksumFile> checksums);
  std::shared_ptr<const ColumnFile> FindOpen(size_t i) const;
  absl::StatusOr<std::shared_ptr<const ColumnFile>> OpenOnce(size_t i) const;

  const std::string directory_;
  const std::vector<std::string> names_;
  const std::shared_ptr<const SymbolDomains> domains_;
  const std::shared_ptr<const ChecksumFile> checksums_;  // nullptr if there are none.
  mutable std::mutex opening_;  // Held while a column is opened; locked before mutex_.
  mutable std::mutex mutex_;    // Guards files_ while one is copied, never while one is opened.
  mutable std::vector<std::shared_ptr<const ColumnFile>> files_;
  mutable std::atomic<uint64_t> rows_{kRowsUnknown};  // Needs no ordering.
  mutable std::atomic<bool> used_{false};             // Since the last Evict. Needs no ordering.
  static constexpr uint64_t kRowsUnknown = UINT64_MAX;
  const OpenTables::Entry entry_;  // Last: other threads may use the table once it exists.
};

}  // namespace tickstack::disk
