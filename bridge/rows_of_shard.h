#pragma once

// The rows of Kafka records that belong to one shard, for a bridge that feeds a sharded stack.
//
//   rows of a partition      AAPL  SPY  AAPL  IBM  SPY ...
//   number in the partition     0    1     2    3    4
//   number in shard a           0          1                if only AAPL is in shard a
//
// Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/name_map.h"
#include "bridge/partitioned_rows.h"
#include "table/schema.h"
#include "table/shard_id.h"
#include "table/shard_map.h"
#include "wire/upd.h"

namespace tickstack::bridge {

// The shard to which a bridge's tickerplant belongs.
struct BridgeShard {
  std::shared_ptr<const ShardMap> map;  // nullptr: the stack has no shards.
  size_t index = 0;                     // Of map->shards().
  std::vector<Schema> schemas = {};     // The stack's tables.

  ShardId id() const { return IdOf(map.get(), index); }
};

class RowsOfShard {
 public:
  // `shard` has a map.
  explicit RowsOfShard(BridgeShard shard);
  RowsOfShard(const RowsOfShard&) = delete;
  RowsOfShard& operator=(const RowsOfShard&) = delete;

  struct Chosen {
    int64_t rows = 0;
    std::span<const std::byte> table;  // Encoded; not used if there are no rows.
  };
  // Returns the rows of a record that belong to the shard, in their order. The symbols are those of
  // the column that ShardColumnOf gives for the stack's table, whatever the order of the columns
  // is. All rows of a table without one belong to the first shard. `rows` is what
  // UpdDecoder::DecodeX found in `encoded`, and must be a table. The result is valid until the next
  // call, but not longer than `encoded`. kInvalidArgument for what is no table, for a table that
  // the stack does not have, without the column, and if a column's bytes are not its rows. Cost: a
  // lookup in a ShardCache per row, and a copy of all bytes.
  absl::StatusOr<Chosen> Choose(std::string_view table, const wire::RowsView& rows,
                                std::span<const std::byte> encoded);

 private:
  absl::StatusOr<PartitionedRows*> PartsOf(std::string_view table, const wire::RowsView& rows);

  const BridgeShard shard_;
  ShardCache cache_;
  NameMap<std::unique_ptr<PartitionedRows>> tables_;
  ByteBuffer chosen_;
};

}  // namespace tickstack::bridge
