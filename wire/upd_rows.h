#pragma once

// Arranges the rows of an upd for a table: columns in the table's order, without rows that it has.
//
// Threads: one owner. Results are valid until the next call, and as long as the upd.

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "table/batch.h"
#include "table/schema.h"
#include "wire/upd.h"

namespace tickstack::wire {

class UpdRows {
 public:
  // An upd that is a table names its columns; one that is a list has them by position.
  // kInvalidArgument if it is a table that lacks a column of the schema; types and the number of
  // columns are checked by CheckBatch.
  absl::StatusOr<BatchView> Arrange(const Schema& schema, const UpdView& upd);
  // kInvalidArgument if a column has fewer rows.
  absl::StatusOr<BatchView> WithoutFirst(const BatchView& batch, size_t rows);

 private:
  std::vector<ColumnView> arranged_;
  std::vector<ColumnView> shortened_;
};

}  // namespace tickstack::wire
