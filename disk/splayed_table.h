#pragma once

// A table stored as one file per column:
//
//   trade/.d       the columns' names, in order
//   trade/time     one column; a nested one has time#, and may have time##

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

namespace tickstack {

// Immutable; a column is opened when it is first asked for, and kept as long as the process has
// mappings enough (open_tables.h). Threads: any. A file that `.d` does not name is no part of the
// table. Errors name the file.
class SplayedTable {
 public:
  // Reads `.d`. kNotFound if there is none. Cost: that file.
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

  // Moves columns that nobody holds to `gone`; if one was asked for since the last call, only with
  // `used_too`.
  void LetGo(bool used_too, std::vector<std::shared_ptr<const ColumnFile>>& gone) const;

 private:
  SplayedTable(std::string directory, std::vector<std::string> names,
               std::shared_ptr<const SymbolDomains> domains);
  std::shared_ptr<const ColumnFile> FindOpen(size_t i) const;
  absl::StatusOr<std::shared_ptr<const ColumnFile>> OpenOnce(size_t i) const;

  const std::string directory_;
  const std::vector<std::string> names_;
  const std::shared_ptr<const SymbolDomains> domains_;
  mutable std::mutex opening_;  // Of threads that open a column: before mutex_.
  mutable std::mutex mutex_;  // Of files_, for as long as one is copied: never while one is opened.
  mutable std::vector<std::shared_ptr<const ColumnFile>> files_;
  mutable std::atomic<uint64_t> rows_{kRowsUnknown};  // Ordered with nothing.
  mutable std::atomic<bool> used_{false};             // Since LetGo came by. Ordered with nothing.
  static constexpr uint64_t kRowsUnknown = UINT64_MAX;
  const OpenTables::Entry entry_;  // The last one: others may come by once it is there.
};

}  // namespace tickstack
