#pragma once

// A kdb+ database on disk:
//
//   db/sym                   a domain of symbols; others may be beside it
//   db/par.txt               segments: directories that hold the partitions instead of db/
//   db/2024.01.29/trade/     the part of table trade in a partition, splayed
//   db/exchange/             a splayed table that is not partitioned
//   db/holidays              a flat table: one value in one file
//
// As in kdb+, the newest partition defines the partitioned tables and their columns. An older
// partition without such a table has no rows of it; a missing column has nulls there.

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

// One directory of a partition. With segments, a value may have several successive ones.
struct Partition {
  int64_t value = 0;      // As in PartitionName.
  std::string directory;  // `db/2024.01.29`, or a path in a segment.
};

// A table with rows in every partition. Immutable. Threads: any.
class PartitionedTable {
 public:
  PartitionedTable(std::string name, std::span<const Partition> partitions,
                   std::shared_ptr<const SymbolDomains> domains);
  PartitionedTable(const PartitionedTable&) = delete;
  ~PartitionedTable();

  // Without the column that the partitions are named for. Nested columns are kList, and so is a
  // column whose type no partition's file reveals.
  const Schema& schema() const { return schema_; }
  const std::string& name() const { return schema_.table; }

  // Returns its part in partition number `partition` of Database::partitions(), which the first
  // call opens; nullptr if that partition lacks the table; kDataLoss if its `.d` omits a column of
  // the schema whose file exists. Valid as long as this. Columns are those of the part's own `.d`,
  // which may differ from the schema.
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
  mutable std::mutex mutex_;  // Held while a thread opens a part.
};

// Immutable: open another one to see later changes. Threads: any.
class Database {
 public:
  struct Options {
    // False: a line of par.txt, or the name of a partition, that leads to no directory is an error,
    // since without it every answer would be wrong; so is a segment that par.txt has twice, whose
    // rows would count twice. True: they become problems().
    bool allow_missing_segments = false;
  };

  // Lists directories, and reads the domains, the newest partition's `.d` and the first page of its
  // columns. kNotFound if there is no such directory, segment or partition; kInvalidArgument if a
  // segment occurs twice; kResourceExhausted if the process has no mappings left, even in the
  // MappingReserve. Damaged or foreign files do not stop it: problems() names them. An empty
  // directory is an empty database. Cost: one listing per segment and of the newest partition,
  // about 50 ns per symbol.
  static absl::StatusOr<std::shared_ptr<const Database>> Open(const std::string& root,
                                                              const Options& options);
  static absl::StatusOr<std::shared_ptr<const Database>> Open(const std::string& root) {
    return Open(root, Options());
  }

  const std::string& root() const { return root_; }
  const std::shared_ptr<const SymbolDomains>& domains() const { return domains_; }

  // The directories that hold partitions: the root, or the lines of par.txt in order.
  std::span<const std::string> segments() const { return segments_; }
  bool is_segmented() const { return is_segmented_; }

  // What the partitions are named for, and the name of the column that has it.
  PartitionKind partition_kind() const { return partition_kind_; }
  std::string_view partition_column() const { return NameOf(partition_kind_); }
  // In ascending order of value; equal values in the order of their segments.
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

  // Files in the root that are neither a domain nor known to be foreign: values that are read on
  // request, such as flat tables.
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
  // Returns the error, or adds it to the problems, as `options` say.
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
