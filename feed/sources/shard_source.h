#pragma once

// The rows of a source that belong to one shard, numbered 0, 1, 2, ... for each table.
//
//   rows of trade      AAPL  SPY  AAPL  IBM  SPY ...
//   number there          0    1     2    3    4
//   number in shard a     0          1                   if AAPL is in shard a
//
// The numbers depend on the source and the map only, so a feed resumes exactly as with a source of
// its own. A rewind reads the source up to the place: from a place that was passed before, or from
// the beginning after a restart of the process. Late in a day that takes a minute, so it is done in
// slices: Next returns nullptr, and the source is due, until the place is found. It does so after
// many rows of other shards, too, since all shards of a feed share its thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "feed/sources/source.h"
#include "table/schema.h"
#include "table/shard_map.h"
#include "wire/upd.h"

namespace tickstack::feed {

struct ShardSourceLimits {
  int64_t place_rows = 100'000;  // Rows of a shard between two places that are remembered.
  // Rows of the source that are read without a pause, to find a place or rows of the shard: 5 ms.
  int64_t read_rows = 200'000;
};

class ShardSource final : public Source {
 public:
  // `schemas` are those of the source's tables. kInvalidArgument if a table has none.
  static absl::StatusOr<std::unique_ptr<ShardSource>> Create(std::unique_ptr<Source> source,
                                                             std::shared_ptr<const ShardMap> map,
                                                             size_t shard,
                                                             const std::vector<Schema>& schemas,
                                                             ShardSourceLimits limits = {});

  // While the place is not found, the next row becomes due when it is.
  void Start(int64_t now_ns) override;
  void MoveClock(int64_t ns) override;
  // Cost: that of the source's rows. If the source makes those of all shards, also 7 ns to choose
  // each, and 5 to copy it.
  absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) override;
  int64_t next_due_ns() const override;
  // Reads `read_rows` rows; Next reads the rest. Cost: that of Next for the rows since the nearest
  // place that was passed before. A source that cannot be rewound in O(1), such as a log, is also
  // read from its beginning, twice.
  absl::Status Rewind(const NameMap<int64_t>& rows_done) override;
  const std::vector<std::string>& tables() const override { return source_->tables(); }
  std::string Describe() const override;
  SourceCounts Counts() const override { return source_->Counts(); }

 private:
  struct Table {
    Schema schema;
    int symbol_column = -1;
    // The next row, as numbered in the source and in the shard.
    int64_t source_row = 0, shard_row = 0;
    // Places that were passed: (source row, shard row), ascending.
    std::vector<std::pair<int64_t, int64_t>> passed = {{0, 0}};
  };

  ShardSource(std::unique_ptr<Source> source, std::shared_ptr<const ShardMap> map, size_t shard,
              ShardSourceLimits limits);
  absl::StatusOr<Table*> Choose(const FeedBatch& batch);
  absl::Status Decode(const FeedBatch& batch, const Table& table);
  // `skip`: how many rows of the batch were returned before.
  absl::Status TakeChosen(const FeedBatch& batch, const Table& table, size_t skip);
  absl::Status ChooseRows(const FeedBatch& batch, const Table& table, size_t skip);
  absl::Status Seek();
  absl::Status EndSeek();
  absl::Status RewindSource(const NameMap<int64_t>& rows);

  std::unique_ptr<Source> source_;
  ShardCache cache_;
  const size_t shard_;
  const ShardSourceLimits limits_;
  int64_t start_ns_ = 0;        // When the source was started.
  int64_t now_ns_ = 0;          // The time of the last call.
  bool start_waits_ = false;    // The source is started when the place is found.
  bool seeks_ = false;          // The place is not found yet.
  int64_t rows_read_ = 0;       // By Next, since it returned nullptr.
  NameMap<int64_t> rows_done_;  // By table: the shard's rows before the place.
  NameMap<int64_t> place_;      // By table, as far as it is found: the source's rows before it.
  NameMap<Table> tables_;
  wire::UpdDecoder decoder_;
  // What Choose was called for, and found:
  wire::RowsView rows_;                              // Its data, if some of that is to be copied.
  std::vector<size_t> chosen_;                       // Rows that belong to the shard, ascending.
  std::vector<size_t> in_data_;                      // Where these are in its data.
  bool has_all_ = false;                             // True: these are all rows of its data.
  const ColumnView* symbol_column_ = nullptr;        // The batch has it; nullptr: there is none.
  std::vector<std::span<const std::byte>> symbols_;  // Its names for the chosen rows, with NULs.
  ByteBuffer data_;
  FeedBatch batch_;
};

}  // namespace tickstack::feed
