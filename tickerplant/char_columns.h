#pragma once

// Columns of chars from feeds that send strings of one character: most clients in other languages
// have no type for a char, so ("@";"N") comes as a list of strings where a table has the type `c`.
// The log and subscribers get a column of chars, as kdb+ expects.
//
// Threads: one owner. Results are valid until the next call.

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "table/batch.h"
#include "table/schema.h"

namespace tickstack::tickerplant {

class CharColumns {
 public:
  // True if Convert would change something: a column is a list where the schema has chars. Item i
  // of `order` is the batch's column that belongs to column i of the schema.
  static bool Needed(const Schema& schema, std::span<const size_t> order, const BatchView& batch);
  // The same for columns in the schema's order.
  static bool Needed(const Schema& schema, const BatchView& batch);

  // Returns the batch with lists of chars and of strings of one character as columns of chars where
  // the schema has those. An empty string is a blank, which is q's null. kInvalidArgument, with
  // table, column and row, if an item is anything else.
  absl::StatusOr<BatchView> Convert(const Schema& schema, std::span<const size_t> order,
                                    const BatchView& batch);

 private:
  std::vector<ColumnView> columns_;
  std::deque<ByteBuffer> chars_;
};

}  // namespace tickstack::tickerplant
