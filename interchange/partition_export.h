#pragma once

// Writes partitions of a database as Parquet files, one per table and partition, in directories
// that DuckDB, Polars, Spark and others read as one table with a column `date` (Hive partitioning):
//
//   dest/trade/date=2020-03-09/part-0.parquet
//   dest/trade/date=2020-03-10/part-0.parquet
//   dest/quote/date=2020-03-09/...
//
// Rows keep the partition's order, which is by symbol and time in partitions that tickstack wrote.
// Each group of rows has the extremes and the number of nulls of each column, so that readers skip
// groups. parquet_stored_column.h describes the types. If two segments have a partition of the same
// value, the second one is part-1.parquet.
//
// A file appears under its name when it is complete and durable. It contains a remark with the
// sizes and times of its source files, and the number and checksum of the names in each domain. An
// export that finds a file with the same sources leaves it alone, if each domain still begins with
// these names. So an export that was interrupted is repeated, and continues.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/worker_pool.h"
#include "disk/database.h"
#include "disk/storage.h"
#include "interchange/parquet_elements.h"

namespace tickstack::interchange {

struct ExportedFile {
  std::string path;
  uint64_t rows = 0;
  uint64_t source_bytes = 0;  // Uncompressed bytes of the column files that were read.
  uint64_t bytes = 0;         // Size of the Parquet file.
  int64_t ns = 0;             // Time that one thread took.
};

struct ExportOptions {
  std::string destination;                // Created if missing.
  std::vector<std::string> tables;        // Names of partitioned tables; empty: all of them.
  std::vector<std::string> skip_columns;  // Such as "trade.cond".
  std::string from;                       // First partition, such as "2020.03.09"; empty: all.
  std::string to;                         // Last partition; empty: all.
  uint64_t rows_per_group = uint64_t{1} << 20;
  int zstd_level = 1;  // 0: uncompressed.
  parquet::Dialect dialect = parquet::Dialect::kExact;
  bool force = false;             // True: write files again although their sources are unchanged.
  WorkerPool* workers = nullptr;  // Each thread writes one file at a time.
  // Called for each written file, by one thread at a time.
  std::function<void(const ExportedFile&)> on_file = nullptr;
};

struct ExportReport {
  std::vector<ExportedFile> written;
  uint64_t unchanged = 0;  // Files that were left alone.
};

// Returns the directory of a partition's files: `date=2020-03-09`, `month=2020-03`, `year=2020` or
// `int=7`.
std::string HiveName(disk::PartitionKind kind, int64_t value);

// Exports partitions. Source bytes are compared with their checksums, if the tables have any.
//
//   kNotFound            a table or column of the options does not exist
//   kInvalidArgument     a bound is not a partition's name; a column cannot be written as Parquet
//   kFailedPrecondition  a directory of a table has other Parquet files, which readers would add
//   kUnavailable         another export writes to the destination
//   kDataLoss            damage in the database
//
// After an error, files that were completed before it are kept.
// Memory: for each thread, one column of `rows_per_group` rows twice, and the mappings of the
// columns of one file.
absl::StatusOr<ExportReport> ExportPartitions(const disk::Database& database,
                                              const ExportOptions& options,
                                              const disk::Storage& storage);

}  // namespace tickstack::interchange
