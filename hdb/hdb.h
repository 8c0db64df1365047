#pragma once

// Loads a database from disk, and makes it available to queries.
//
//   query threads  ----current()---->  LoadedDatabase  (held while a query runs)
//   Reload()       ----------------->  replaces it
//
// A loaded database never changes. A partition that is written later is visible to queries that
// begin after the next reload. Running queries keep the database that they began with, whose files
// stay mapped even if they are deleted.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/database.h"
#include "query/columns/stored_table.h"
#include "table/value.h"

namespace tickstack::hdb {

// Immutable; any thread. Flat files are read into memory when the database is loaded, as in kdb+.
class LoadedDatabase {
 public:
  explicit LoadedDatabase(std::shared_ptr<const disk::Database> database);

  const disk::Database& database() const { return *database_; }
  std::shared_ptr<const query::StoredTable> Find(std::string_view table) const;  // nullptr: none.
  // Returns the value of a flat file of the root, such as a table in one file; nullptr: none.
  const Value* FindFlat(std::string_view name) const;
  std::vector<std::string> FlatNames() const;
  std::vector<std::string> TableNames() const;  // Sorted; includes flat tables.
  // Returns the reasons why parts of the database, or flat files that are not values, were not
  // loaded.
  const std::vector<std::string>& problems() const { return problems_; }
  // Returns differences between `.d` files and the files beside them, and tables that partitions
  // lack. The first call finds and logs them. Cost: it lists every partition and reads every `.d`.
  // Loading does not do this, because it reads the newest partition only, and there may be
  // thousands on a slow disk.
  const std::vector<std::string>& layout_problems() const;
  // Returns the distinct values of the partitions as a vector.
  Value PartitionValues() const;
  size_t partitions() const { return partition_count_; }  // Distinct values.

 private:
  void FindLayoutProblems(const disk::PartitionedTable& table) const;
  void FindLostTables() const;

  const std::shared_ptr<const disk::Database> database_;
  size_t partition_count_ = 0;
  std::map<std::string, std::shared_ptr<const query::StoredTable>, std::less<>> tables_;
  std::map<std::string, Value, std::less<>> flat_;
  std::vector<std::string> problems_;
  mutable std::once_flag layout_checked_;
  mutable std::vector<std::string> layout_problems_;  // Written once, under layout_checked_.
};

// Threads: any.
class Hdb {
 public:
  // Does not load the database: there are no tables before Reload. `root` is the database's
  // directory.
  explicit Hdb(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  // Loads the database as it is on disk now, and replaces the loaded one. Concurrent calls run one
  // at a time. After an error the loaded database stays, and problems() has the error until a load
  // succeeds. Errors: those of Database::Open; also kResourceExhausted if a flat file or splayed
  // table cannot be mapped for lack of mappings. Cost: Database::Open.
  absl::Status Reload();
  // Returns the loaded database; nullptr before the first successful load.
  std::shared_ptr<const LoadedDatabase> current() const;
  // Returns the error of the last load, if it failed, then the problems of the loaded database.
  std::vector<std::string> problems() const;
  // Returns the same problems except LoadedDatabase::layout_problems, which may take long to find.
  std::vector<std::string> load_problems() const;

  // Successful loads.
  uint64_t reloads() const { return reloads_.load(std::memory_order_relaxed); }
  uint64_t reloads_failed() const { return reloads_failed_.load(std::memory_order_relaxed); }
  // Duration of the last load.
  int64_t load_ns() const { return load_ns_.load(std::memory_order_relaxed); }

 private:
  absl::StatusOr<std::shared_ptr<const LoadedDatabase>> Load() const;

  const std::string root_;
  std::mutex loading_;        // Held while loading, so that the newest state wins.
  mutable std::mutex mutex_;  // Guards current_ and load_error_.
  std::shared_ptr<const LoadedDatabase> current_;
  std::string load_error_;  // Error of the last load; empty if it succeeded.
  std::atomic<uint64_t> reloads_ = 0;
  std::atomic<uint64_t> reloads_failed_ = 0;
  std::atomic<int64_t> load_ns_ = 0;
};

}  // namespace tickstack::hdb
