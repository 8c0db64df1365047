#pragma once

// The rows of files as tables of days, in memory: record_source.h reads records, and
// import_mapping.h says what they mean.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "cli/import_mapping.h"
#include "cli/record_source.h"
#include "mem/tier.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack::cli {

// Threads: one owner. Memory: all rows.
class ImportRows {
 public:
  // The mapping must outlive this object. Its columns become those of the tables, in this order.
  explicit ImportRows(const ImportMapping& mapping);

  // Adds the rows of a file. kInvalidArgument, with the place, for a record that does not fit the
  // mapping, and for too many days. After an error, nothing more can be added.
  absl::Status Add(const std::string& path);

  // Returns the table of each day, in days since 2000.
  const std::map<int32_t, std::shared_ptr<Table>>& days() const { return days_; }
  uint64_t rows() const { return rows_; }
  // Makes a table that shares symbols and memory with those of the days.
  absl::StatusOr<std::shared_ptr<Table>> MakeTable(const Schema& schema);

 private:
  // Where the mapping's columns are in the records of a file.
  struct Places {
    std::vector<size_t> columns;
    size_t date = 0;
  };

  absl::StatusOr<Places> PlacesIn(const RecordSource& source) const;
  absl::Status AddRecord(const RecordSource& source, const Places& places);
  absl::StatusOr<int32_t> DateOf(const RecordSource& source, const Places& places) const;
  absl::Status CheckDay(int32_t date) const;
  absl::Status Flush();

  const ImportMapping& mapping_;
  const Schema schema_;
  MappedColumn date_column_;  // How the mapping's date_column is parsed.
  const std::unique_ptr<mem::Tier> tier_;
  SymbolTable symbols_;
  std::map<int32_t, std::shared_ptr<Table>> days_;
  uint64_t rows_ = 0;
  // Rows of one day that are not in its table yet.
  std::vector<ByteBuffer> pending_;
  size_t pending_rows_ = 0;
  int32_t pending_date_ = 0;
};

}  // namespace tickstack::cli
