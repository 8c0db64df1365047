#pragma once

// Divides the rows of a table among partitions, and makes Kafka records of them.
//
// All rows of a symbol are in one partition, in the order in which they were added.
//
// Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/byte_buffer.h"
#include "table/batch.h"
#include "table/schema.h"

namespace tickstack::bridge {

// The rows of one partition, as the value of a record.
struct PartitionRecord {
  int32_t partition = 0;
  uint32_t rows = 0;
  ByteBuffer payload;  // A kdb+ IPC message whose body is a table.
};

class PartitionedRows {
 public:
  // Returns the partition of a symbol, from 0 on.
  using Choose = std::function<int32_t(std::string_view symbol)>;
  // A record is complete when it has about `record_bytes`. `partitions` is at least 1.
  // `symbol_column` is the index of a symbol column; -1: all rows are in partition 0.
  PartitionedRows(Schema schema, int symbol_column, int32_t partitions, Choose choose,
                  size_t record_bytes);

  // Adds the rows of a batch that CheckBatch accepts. kInvalidArgument, with no row added, if a
  // column's bytes do not have its rows. Cost: a choice per row, and a copy of all bytes.
  absl::Status Add(const BatchView& batch);

  // Returns the complete records and, as records, all rows that are pending.
  std::vector<PartitionRecord> Take();
  void Clear();
  size_t bytes() const { return bytes_; }  // Of rows that were added and not taken.
  const Schema& schema() const { return schema_; }
  bool has_symbols() const { return symbol_column_ >= 0; }
  int32_t partitions() const { return static_cast<int32_t>(pending_.size()); }

 private:
  struct Pending {
    uint32_t rows = 0;
    size_t bytes = 0;
    std::vector<ByteBuffer> columns;
  };
  void ChoosePartitions(const BatchView& batch);
  void AddColumn(size_t index, const ColumnView& column, size_t begin, size_t end, size_t* offset);
  template <size_t kWidth>
  void AddFixed(size_t index, const std::byte* from, size_t begin, size_t end);
  void Complete(int32_t partition);

  const Schema schema_;
  const Choose choose_;
  const size_t record_bytes_;
  const int symbol_column_;
  std::vector<Pending> pending_;
  std::vector<PartitionRecord> complete_;
  size_t bytes_ = 0;
  std::vector<int32_t> partition_of_;  // By row of the batch that is added.
  std::vector<uint32_t> rows_of_;      // By partition, in the slice that is added.
  std::vector<std::byte*> at_;         // By partition: where the next element is written.
};

}  // namespace tickstack::bridge
