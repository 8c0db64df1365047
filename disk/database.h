#pragma once

// A kdb+ database on disk:
//
//   db/sym                   a domain of symbols; db/ may have other domains, too
//   db/par.txt               segments: directories that hold the partitions instead of db/
//   db/2024.01.29/trade/     the part of table trade in a partition, splayed
//   db/exchange/             a splayed table that is not partitioned
//   db/holidays              a flat table: one value in one file
//
// As in kdb+, the newest partition defines the partitioned tables and their columns. If an older
// partition lacks a table, the table has no rows there; if it lacks a column, the column has nulls
// there.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/partition_name.h"
#include "disk/splayed_table.h"
#include "table/schema.h"

namespace tickstack::disk {

// One directory of a partition. With segments, several successive directories may have the same
// value.
struct Partition {
  int64_t value = 0;      // The same as PartitionName::value.
  std::string directory;  // `db/2024.01.29`, or a path in a segment.
  uint64_t inode = 0;     // The directory's when the database was opened; 0 if unknown.
};

// A table with rows in every partition. Immutable. Threads: any.
class PartitionedTable {
 public:
  PartitionedTable(std::string name, std::span<const Partition> partitions,
                   std::shared_ptr<const SymbolDomains> domains);
  PartitionedTable(const PartitionedTable&) = delete;
  ~PartitionedTable();

  // Returns the schema, without the column that the partitions are named for. Nested columns have
  // type kList, and so has a column whose type cannot be read from any partition's file.
  const Schema& schema() const { return schema_; }
  const std::string& name() const { return schema_.table; }
  // True if its files have a column with the name of the partitions' virtual column. schema()
  // leaves it out: each row has the partition's value.
  bool hides_column() const { return hides_column_; }

  // Returns the table's part in `Database::partitions()[partition]`; nullptr if that partition
  // lacks the table. If a merge has replaced the partition since the database was opened, returns
  // the part of the replaced version (partition_versions.h). The first call opens the part, which
  // is valid while this object exists. The part has the columns of its own `.d`, which may differ
  // from the schema. kDataLoss if that `.d` omits a column of the schema although the column's file
  // exists.
  absl::StatusOr<const SplayedTable*> In(size_t partition) const;

 private:
  friend class Database;
  void ReadSchema();
  absl::Status CheckNames(const SplayedTable& part) const;
  absl::StatusOr<std::shared_ptr<const SplayedTable>> Open(const Partition& partition) const;

  const std::span<const Partition> partitions_;
  const std::shared_ptr<const SymbolDomains> domains_;
  Schema schema_;
  bool hides_column_ = false;
  // One for each partition. It holds nullptr until the part is opened. The pointer is then stored
  // once, with release, which pairs with the acquire in In.
  struct Part;
  const std::unique_ptr<Part[]> parts_;
  mutable std::mutex mutex_;  // Held while a thread opens a part.
};

// Immutable: open the database again to see later changes. Threads: any.
class Database {
 public:
  struct Options {
    // What happens if par.txt names a segment that does not exist, if it names a segment twice, or
    // if a partition is a symbolic link to nothing. Rows would then be missing or count twice.
    // False: Open fails. True: it adds the fault to problems().
    bool allow_missing_segments = false;
  };

  // Opens a database: lists its directories, and reads the domains, the `.d` files of the newest
  // partition, and the first page of its columns. kNotFound if there is no such directory, segment
  // or partition; kInvalidArgument if a segment occurs twice; kResourceExhausted if the process has
  // no mappings left, even in the MappingReserve. Files that are damaged or not kdb+'s are
  // not errors; problems() names them. An empty directory is an empty database. Cost: listing each
  // segment and the newest partition, and about 50 ns per symbol.
  static absl::StatusOr<std::shared_ptr<const Database>> Open(const std::string& root,
                                                              const Options& options);
  static absl::StatusOr<std::shared_ptr<const Database>> Open(const std::string& root) {
    return Open(root, Options());
  }

  const std::string& root() const { return root_; }
  const std::shared_ptr<const SymbolDomains>& domains() const { return domains_; }

  // Returns the directories that hold partitions: the root, or the lines of par.txt in order.
  std::span<const std::string> segments() const { return segments_; }
  bool is_segmented() const { return is_segmented_; }

  // Returns what the partitions are named for: dates, months, years or numbers.
  PartitionKind partition_kind() const { return partition_kind_; }
  // Returns the name of the column whose value is the partition's: date, month, year or int.
  std::string_view partition_column() const { return NameOf(partition_kind_); }
  // The partitions in ascending order of value; those with equal values in the order of their
  // segments.
  std::span<const Partition> partitions() const { return partitions_; }

  std::span<const std::unique_ptr<PartitionedTable>> partitioned_tables() const {
    return partitioned_;
  }
  const PartitionedTable* FindPartitioned(std::string_view name) const;  // nullptr: none.

  // The splayed tables in the root, in order of name.
  struct RootTable {
    std::string name;
    std::shared_ptr<const SplayedTable> table;
  };
  std::span<const RootTable> splayed_tables() const { return splayed_; }
  const SplayedTable* FindSplayed(std::string_view name) const;  // nullptr: none.

  // Files in the root that may hold a value, such as a flat table: all files except domains and
  // files known to be something else. Values are read on request.
  struct RootFile {
    std::string name;
    std::string path;
  };
  std::span<const RootFile> flat_files() const { return flat_; }

  // The reasons why files were not loaded; each names its file.
  std::span<const std::string> problems() const { return problems_; }

 private:
  Database() = default;
  absl::Status ReadRoot(const Options& options);
  absl::Status ReadSegments(const Options& options);
  absl::Status ReadPartitions(const Options& options);
  // Returns the error or, if `options` allow it, adds it to the problems and returns OK.
  absl::Status Missing(absl::Status status, const Options& options);
  void ReadPartitionedTables();

  std::string root_;
  std::shared_ptr<const SymbolDomains> domains_;
  std::vector<std::string> segments_;
  bool is_segmented_ = false;
  PartitionKind partition_kind_ = PartitionKind::kDate;
  std::vector<Partition> partitions_;
  std::vector<std::unique_ptr<PartitionedTable>> partitioned_;
  std::vector<RootTable> splayed_;
  std::vector<RootFile> flat_;
  std::vector<std::string> problems_;
};

}  // namespace tickstack::disk
