#pragma once

// The mapping file of `tickstack hdb import`: which columns of a CSV file become which columns of a
// table.
//
//   table = "trade"
//   date = "2020.03.09"       # the day of all rows; or
//   date_column = "Date"      # a column of the file; date_format if it is not like 2020-03-09.
//                             # Without both: the day of the first column of timestamps
//   delimiter = ","
//   header = true             # false: `from` is the column's number, from 1
//   null = ["NA", "null"]     # fields that are null, besides empty ones
//
//   [[column]]
//   name = "time"
//   type = "p"                # b h i j e f c s p d n u v t, or C for strings
//   from = "Timestamp"        # default: the name
//   format = "%m/%d/%Y %H:%M:%E*S"   # for p and d, as strptime
//   unit = "ms"               # for p: a number of s, ms, us or ns since 1970

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "table/schema.h"

namespace tickstack::cli {

struct MappedColumn {
  ColumnSpec spec;
  std::string from;
  std::string format;   // Empty: q's forms, and ISO 8601 without a zone.
  int64_t unit_ns = 0;  // Not 0: a number of this many ns since 1970.
};

struct ImportMapping {
  std::string table;
  std::string date;
  std::string date_column;
  std::string date_format;
  char delimiter = ',';
  bool header = true;
  std::vector<std::string> nulls;
  std::vector<MappedColumn> columns;

  Schema schema() const;
};

// kInvalidArgument, with the place in the file, for unknown and wrong keys.
absl::StatusOr<ImportMapping> LoadImportMapping(const std::string& path);
// `name` names the file in errors.
absl::StatusOr<ImportMapping> ParseImportMapping(std::string_view text, std::string_view name);

}  // namespace tickstack::cli
