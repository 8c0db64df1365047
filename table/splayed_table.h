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
#include "table/column_file.h"

namespace tickstack {

// Immutable; a column is opened when it is first asked for. Threads: any. A file that `.d` does not
// name is no part of the table. Errors name the file.
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

  // Of the first column that can be opened; all that Column() returns have as many. The first
  // column's error if none can. Cost: opens that column, once.
  absl::StatusOr<uint64_t> Rows() const;

  // Column `i`, opened on the first call. Lives as long as the table. An error (no file, damage, a
  // count of rows that is not the table's) is that column's alone, and found anew by every call.
  absl::StatusOr<const ColumnFile*> Column(size_t i) const;

 private:
  SplayedTable(std::string directory, std::vector<std::string> names,
               std::shared_ptr<const SymbolDomains> domains);
  absl::StatusOr<const ColumnFile*> OpenOnce(size_t i) const;

  const std::string directory_;
  const std::vector<std::string> names_;
  const std::shared_ptr<const SymbolDomains> domains_;
  mutable std::mutex mutex_;                                      // Of threads that open a column.
  mutable std::vector<std::shared_ptr<const ColumnFile>> files_;  // Guarded by mutex_.
  // What files_ holds, for those who find it there: nullptr, then one store with release, which
  // pairs with the acquire in OpenOnce.
  const std::unique_ptr<std::atomic<const ColumnFile*>[]> opened_;
};

}  // namespace tickstack
