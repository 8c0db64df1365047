#pragma once

// The past: a database on disk as it was when it was last loaded.
//
//   query threads  ----current()---->  LoadedDatabase  (as long as a query works on it)
//   Reload()       ----------------->  another one, in place of it
//
// What is loaded never changes: a partition that was written since is seen after the next reload,
// by queries that begin then. Those that run go on with what they have, whose files stay mapped
// even if they are gone.

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

// Immutable; any thread. Flat files are read at once, as kdb+ does: each into memory.
class LoadedDatabase {
 public:
  explicit LoadedDatabase(std::shared_ptr<const Database> database);

  const Database& database() const { return *database_; }
  std::shared_ptr<const query::StoredTable> Find(std::string_view table) const;  // nullptr: none.
  // A value out of a flat file of the root, such as a table in one file; nullptr: none.
  const Value* FindFlat(std::string_view name) const;
  std::vector<std::string> FlatNames() const;
  std::vector<std::string> TableNames() const;  // Sorted; flat ones among them.
  // What was left out, and why: the database's, and flat files that are no values.
  const std::vector<std::string>& problems() const { return problems_; }
  // Where `.d`s and the files beside them differ, and tables that partitions lack. Logged when
  // found. Cost: the first call lists every partition and reads every `.d`; later ones none. Not
  // part of loading, which touches the newest partition only: there may be thousands on a slow
  // disk.
  const std::vector<std::string>& layout_problems() const;
  // The partitions' values, each once, as a vector.
  Value PartitionValues() const;
  size_t partitions() const { return partition_count_; }  // Each value once.

 private:
  void FindLayoutProblems(const PartitionedTable& table) const;
  void FindLostTables() const;

  const std::shared_ptr<const Database> database_;
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
  // Nothing is loaded yet: there are no tables. `root` is the database's directory.
  explicit Hdb(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  // Loads the database as it is now, in place of what was loaded; of several callers one at a time.
  // After an error everything is as before. Errors: Database::Open's; also kResourceExhausted if a
  // flat file or a splayed table cannot be mapped for want of mappings. problems() has the error
  // until a load succeeds. Cost: Database::Open.
  absl::Status Reload();
  // nullptr: nothing was loaded yet.
  std::shared_ptr<const LoadedDatabase> current() const;
  // Why the last load failed, if it did; then those of what is loaded, its layout's last.
  std::vector<std::string> problems() const;

  uint64_t reloads() const { return reloads_.load(std::memory_order_relaxed); }  // That succeeded.
  uint64_t reloads_failed() const { return reloads_failed_.load(std::memory_order_relaxed); }
  int64_t load_ns() const { return load_ns_.load(std::memory_order_relaxed); }  // The last one.

 private:
  absl::StatusOr<std::shared_ptr<const LoadedDatabase>> Load() const;

  const std::string root_;
  std::mutex loading_;        // Of those who reload: the newest state is the one that stays.
  mutable std::mutex mutex_;  // Of the next two, for as long as they are copied.
  std::shared_ptr<const LoadedDatabase> current_;
  std::string load_error_;  // Of the last load; empty: it succeeded.
  std::atomic<uint64_t> reloads_ = 0;
  std::atomic<uint64_t> reloads_failed_ = 0;
  std::atomic<int64_t> load_ns_ = 0;
};

}  // namespace tickstack::hdb
