#pragma once

// Generates the encoded batches of one table's day at about 1 ns per row, so that a benchmark
// measures mostly the consumer. A pool of batches is built once; each reuse of a batch changes only
// its times.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "table/batch.h"
#include "table/schema.h"

namespace tickstack::bench {

struct DayBatchOptions {
  size_t rows_per_batch = 2400;
  size_t batches = 256;  // Distinct batches in the pool, before the first one is reused.
  size_t symbols = 8000;
  int64_t open_ns = 0;  // Time of the first row.
  int64_t step_ns = 1;  // Difference between the times of successive rows.
  uint64_t seed = 1;
  uint8_t chars = 26;  // Number of distinct values of a char column, starting with `A`.
};

// The batches of a day for a schema with a column `time` of timestamps and a column `sym` of
// symbols. Times ascend by `step_ns`. Rows are distributed over symbols by Zipf's law: the k-th
// symbol has 1/k of the first one's rows. Other values are random: prices from 1 to 100, sizes from
// 1 to 1,000. The same options give the same rows.
//
// Threads: one owner.
class DayBatches {
 public:
  DayBatches(const Schema& schema, const DayBatchOptions& options);

  // Returns the next batch. Its bytes belong to the pool and are valid until the batch is reused.
  BatchView Next();
  // Returns the batch at `number` modulo the pool's size, without setting its times, for callers
  // that must not spend time on this. Its times are those that Next() last set, or those of the
  // first batch. rows() does not count the batch.
  BatchView InPool(size_t number) const {
    return {pool_[number % pool_.size()].columns, options_.rows_per_batch};
  }
  std::span<const std::byte> BytesInPool(size_t number) const {
    return std::as_bytes(pool_[number % pool_.size()].bytes.span());
  }
  size_t pool_size() const { return pool_.size(); }
  // Starts the day again: Next() returns the first batch.
  void Restart() { handed_out_ = 0; }

  // Returns the number of rows handed out so far.
  size_t rows() const { return handed_out_ * options_.rows_per_batch; }
  // Returns the name with the rank-th most rows in the pool; ranks start at 0.
  const std::string& NameOf(size_t rank) const { return names_[by_activity_[rank]]; }
  size_t RowsOf(std::string_view name) const;
  // Returns the number of the last row with this name. At least one row must have it.
  size_t LastRowOf(std::string_view name) const;
  int64_t TimeOf(size_t row) const {
    return options_.open_ns + static_cast<int64_t>(row) * options_.step_ns;
  }

 private:
  struct Batch {
    ByteBuffer bytes;
    std::vector<ColumnView> columns;
    std::vector<uint16_t> symbols;  // Numbers into names_, one per row.
  };

  Batch Make(const Schema& schema, uint64_t seed) const;
  uint16_t NumberOf(std::string_view name) const;

  const DayBatchOptions options_;
  size_t time_column_;
  std::vector<std::string> names_;
  std::vector<double> cumulative_;  // Sum of the activities of names_[0 .. i].
  std::vector<size_t> by_activity_;
  std::vector<Batch> pool_;
  size_t handed_out_ = 0;
};

}  // namespace tickstack::bench
