#pragma once

// Encoded batches of one table's day at a cost of about 1 ns a row, so that whoever takes them is
// what gets measured: a pool of batches is made once and comes round again and again, its times
// moved on.

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
  size_t batches = 256;  // In the pool: different ones, before the first comes again.
  size_t symbols = 8000;
  int64_t open_ns = 0;  // The first row's time.
  int64_t step_ns = 1;  // From row to row.
  uint64_t seed = 1;
  uint8_t chars = 26;  // Different values of a char column, from `A` on.
};

// Rows of a schema with a column `time` of timestamps and a column `sym` of symbols. Times ascend
// by `step_ns`, symbols have a Zipf activity (the k-th has 1/k of the first one's rows), everything
// else is random: prices from 1 to 100, sizes from 1 to 1,000. The same options give the same rows.
//
// Threads: one owner.
class DayBatches {
 public:
  DayBatches(const Schema& schema, const DayBatchOptions& options);

  // The next batch. Its bytes are the pool's: good until the batch comes round again.
  BatchView Next();
  // Batch `number` of the pool, round and round, with the times of the first: for whoever must not
  // pay for moving them. It was not handed out.
  BatchView InPool(size_t number) const {
    return {pool_[number % pool_.size()].columns, options_.rows_per_batch};
  }
  std::span<const std::byte> BytesInPool(size_t number) const {
    return std::as_bytes(pool_[number % pool_.size()].bytes.span());
  }
  size_t pool_size() const { return pool_.size(); }
  // Begins the day again: the first batch comes next.
  void Restart() { handed_out_ = 0; }

  // What was handed out so far.
  size_t rows() const { return handed_out_ * options_.rows_per_batch; }
  // The name with the rank-th most rows in the pool, from 0 on.
  const std::string& NameOf(size_t rank) const { return names_[by_activity_[rank]]; }
  size_t RowsOf(std::string_view name) const;
  // The number of the last row with this name; it has to have one.
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
  std::vector<double> cumulative_;  // Activity of names_[0 .. i] together.
  std::vector<size_t> by_activity_;
  std::vector<Batch> pool_;
  size_t handed_out_ = 0;
};

}  // namespace tickstack::bench
