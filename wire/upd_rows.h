#pragma once

// The rows of an upd as a table wants them: its columns in its order, without rows that it has.
//
// Threads: one owner. What is returned is valid until the next call, and as long as the upd.

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "table/batch.h"
#include "table/schema.h"
#include "wire/upd.h"

namespace tickstack::wire {

class UpdRows {
 public:
  // An upd that is a table says which column is which; one that is a list goes by position.
  // kInvalidArgument if it is a table that lacks a column of the schema; types and the count of
  // columns are CheckBatch's.
  absl::StatusOr<BatchView> Arrange(const Schema& schema, const UpdView& upd);
  // kInvalidArgument if a column has fewer rows.
  absl::StatusOr<BatchView> WithoutFirst(const BatchView& batch, size_t rows);

 private:
  std::vector<ColumnView> arranged_;
  std::vector<ColumnView> shortened_;
};

}  // namespace tickstack::wire
