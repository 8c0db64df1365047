#pragma once

// A kdb+ database on disk:
//
//   db/sym                   a domain of symbols; further ones beside it
//   db/par.txt               segments: directories that hold the partitions in place of db/
//   db/2024.01.29/trade/     a partition's part of the table trade, splayed
//   db/exchange/             a splayed table that is not partitioned
//   db/holidays              a flat table: one value in one file
//
// As kdb+ does it, the newest partition says which partitioned tables there are and what columns
// they have. Where an older one has no such table it has no rows of it; where its table has no such
// column, nulls.

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

namespace tickstack {

// One directory of one partition. With segments a value may have several, one after the other.
struct Partition {
  int64_t value = 0;      // As PartitionName's.
  std::string directory;  // `db/2024.01.29`, or in a segment.
};

// A table with rows in every partition. Immutable. Threads: any.
class PartitionedTable {
 public:
  PartitionedTable(std::string name, std::span<const Partition> partitions,
                   std::shared_ptr<const SymbolDomains> domains);
  PartitionedTable(const PartitionedTable&) = delete;
  ~PartitionedTable();

  // Without the column that the partitions are named for. Nested columns are kList, and so is one
  // that no partition's file tells the type of.
  const Schema& schema() const { return schema_; }
  const std::string& name() const { return schema_.table; }

  // Its part in partition number `partition` of Database::partitions(), opened on the first call;
  // nullptr if that partition has no such table; kDataLoss if its `.d` leaves out a column of the
  // schema whose file is there. Lives as long as this. Columns are by the part's
  // own `.d`, which may have fewer or others than the schema.
  absl::StatusOr<const SplayedTable*> In(size_t partition) const;

 private:
  friend class Database;
  void ReadSchema();
  absl::Status CheckNames(const SplayedTable& part) const;

  const std::span<const Partition> partitions_;
  const std::shared_ptr<const SymbolDomains> domains_;
  Schema schema_;
  // One for each partition: nullptr until opened, then one store with release, which pairs with the
  // acquire in In.
  struct Part;
  const std::unique_ptr<Part[]> parts_;
  mutable std::mutex mutex_;  // Of threads that open a part.
};

// Immutable: to see what was written since, open another one. Threads: any.
class Database {
 public:
  struct Options {
    // A line of par.txt or the name of a partition that leads to no directory is an error, since
    // without those partitions every answer would be wrong; so is a segment that par.txt has twice,
    // whose rows would count twice. True: they are problems().
    bool allow_missing_segments = false;
  };

  // Lists directories and reads the domains, the newest partition's `.d` and the first page of its
  // columns. kNotFound if there is no such directory, segment or partition; kInvalidArgument if a
  // segment is there twice; kResourceExhausted if the process has no mappings left, even of the
  // MappingReserve. What is damaged or foreign inside does not stop it: problems() names it. An
  // empty directory is an empty database. Cost: one listing per segment and of the newest
  // partition, about 50 ns a symbol.
  static absl::StatusOr<std::shared_ptr<const Database>> Open(const std::string& root,
                                                              const Options& options);
  static absl::StatusOr<std::shared_ptr<const Database>> Open(const std::string& root) {
    return Open(root, Options());
  }

  const std::string& root() const { return root_; }
  const std::shared_ptr<const SymbolDomains>& domains() const { return domains_; }

  // The directories that hold partitions: the root, or the lines of par.txt in their order.
  std::span<const std::string> segments() const { return segments_; }
  bool is_segmented() const { return is_segmented_; }

  // What the partitions are named for, and the name of the column that has it.
  PartitionKind partition_kind() const { return partition_kind_; }
  std::string_view partition_column() const { return NameOf(partition_kind_); }
  // In ascending order of value; of equal ones in order of their segments.
  std::span<const Partition> partitions() const { return partitions_; }

  std::span<const std::unique_ptr<PartitionedTable>> partitioned_tables() const {
    return partitioned_;
  }
  const PartitionedTable* FindPartitioned(std::string_view name) const;  // nullptr: none.

  // The tables in the root that have a directory, by name.
  struct RootTable {
    std::string name;
    std::shared_ptr<const SplayedTable> table;
  };
  std::span<const RootTable> splayed_tables() const { return splayed_; }
  const SplayedTable* FindSplayed(std::string_view name) const;  // nullptr: none.

  // Files in the root that are neither a domain nor known not to be kdb+'s: values that are read
  // when they are asked for, such as flat tables.
  struct RootFile {
    std::string name;
    std::string path;
  };
  std::span<const RootFile> flat_files() const { return flat_; }

  // Files that were not loaded, with reasons; each names its file.
  std::span<const std::string> problems() const { return problems_; }

 private:
  Database() = default;
  absl::Status ReadRoot(const Options& options);
  absl::Status ReadSegments(const Options& options);
  absl::Status ReadPartitions(const Options& options);
  // An error that is one, or becomes a problem.
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

}  // namespace tickstack
