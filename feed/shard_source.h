#pragma once

// The rows of a source that belong to one shard, numbered 0, 1, 2, ... for each table.
//
//   rows of trade      AAPL  SPY  AAPL  IBM  SPY ...
//   number there          0    1     2    3    4
//   number in shard a     0          1                   if AAPL is in shard a
//
// The numbers depend on the source and the map only, so a feed resumes exactly as with a source of
// its own. A rewind reads the source up to the place: from a place that was passed before, or from
// the beginning after a restart of the process.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "feed/source.h"
#include "table/schema.h"
#include "table/shard_map.h"
#include "wire/upd.h"

namespace tickstack::feed {

class ShardSource final : public Source {
 public:
  // `schemas` are those of the source's tables. kInvalidArgument if a table has none.
  static absl::StatusOr<std::unique_ptr<ShardSource>> Create(std::unique_ptr<Source> source,
                                                             std::shared_ptr<const ShardMap> map,
                                                             size_t shard,
                                                             const std::vector<Schema>& schemas);

  void Start(int64_t now_ns) override { source_->Start(now_ns); }
  // Cost: that of the source's rows, of all shards, and about 60 ns per row to choose and copy.
  absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) override;
  int64_t next_due_ns() const override { return source_->next_due_ns(); }
  // Cost: that of Next for the rows since the nearest place that was passed before.
  absl::Status Rewind(const NameMap<int64_t>& rows_done) override;
  const std::vector<std::string>& tables() const override { return source_->tables(); }
  std::string Describe() const override;

 private:
  struct Table {
    Schema schema;
    int symbol_column = -1;
    // The next row, as numbered in the source and in the shard.
    int64_t source_row = 0, shard_row = 0;
    // Places that were passed: (source row, shard row), ascending.
    std::vector<std::pair<int64_t, int64_t>> passed = {{0, 0}};
  };

  ShardSource(std::unique_ptr<Source> source, std::shared_ptr<const ShardMap> map, size_t shard);
  absl::StatusOr<Table*> Choose(const FeedBatch& batch);
  absl::Status FindPlace(const NameMap<int64_t>& rows_done, NameMap<int64_t>* place);
  absl::Status RewindSource(const NameMap<int64_t>& rows);

  std::unique_ptr<Source> source_;
  ShardCache cache_;
  const size_t shard_;
  NameMap<Table> tables_;
  wire::UpdDecoder decoder_;
  wire::RowsView rows_;         // The batch that Choose was called for.
  std::vector<size_t> chosen_;  // Rows of that batch that belong to the shard, ascending.
  ByteBuffer data_;
  FeedBatch batch_;
};

}  // namespace tickstack::feed
