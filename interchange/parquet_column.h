#pragma once

// One column of a Parquet file: its type, and its rows as pages. See parquet.h.

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "interchange/parquet_pages.h"
#include "table/value.h"

namespace tickstack::interchange::parquet {

class ColumnWriter {
 public:
  // `values` is a column of a table, which must outlive the writer. kInvalidArgument if it holds
  // lists, or a text of more than 256 MiB.
  static absl::StatusOr<ColumnWriter> For(std::string_view name, const Value& values);

  const ColumnSchema& schema() const { return schema_; }

  // Appends the pages of rows [begin, end).
  Chunk WriteRows(size_t begin, size_t end, PageWriter& pages) const;

 private:
  ColumnWriter(std::string_view name, const Value& values);

  // Returns the values in PLAIN encoding, back to back. Nulls are left out, and all other rows are
  // set in `valid`.
  std::string PlainNumbers(size_t begin, size_t end, Validity& valid) const;
  // Writes names with a dictionary. If the names are too long for one, writes nothing and returns
  // false.
  bool WriteNames(size_t begin, size_t end, PageWriter& pages, Chunk& chunk) const;

  const Value& values_;
  ColumnSchema schema_;
};

}  // namespace tickstack::interchange::parquet
