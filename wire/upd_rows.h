#pragma once

// Arranges the rows of an upd for a table: columns in the table's order, without rows that the
// table has already.
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
  // Returns the upd's columns in the schema's order: by name if the upd is a table, by position if
  // it is a list. kInvalidArgument if the upd is a table that lacks a column of the schema. Types
  // and the number of columns are checked by CheckBatch.
  absl::StatusOr<BatchView> Arrange(const Schema& schema, const UpdView& upd);
  // Returns the batch without its first `rows` rows. kInvalidArgument if a column has fewer.
  absl::StatusOr<BatchView> WithoutFirst(const BatchView& batch, size_t rows);

 private:
  std::vector<ColumnView> arranged_;
  std::vector<ColumnView> shortened_;
};

}  // namespace tickstack::wire
