#pragma once

// Which shard has which symbols. A shard is a tickerplant and the processes behind it.
//
// A symbol that the map names belongs to the shard that it says. Every other symbol belongs to the
// shard with the highest weight, which is a hash of both names (rendezvous hashing). So the order
// of the shards does not matter, and a further shard takes symbols from all others, while all other
// symbols stay where they are.
//
// Threads: reentrant.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/name_map.h"
#include "base/string_map.h"
#include "table/schema.h"

namespace tickstack {

// Returns the index of the column that decides which shard a row belongs to: `sym`, otherwise the
// first symbol column; -1 if the table has none. Such a table is in the first shard only.
int ShardColumnOf(const Schema& schema);

class ShardMap {
 public:
  // `symbols`: the name of the shard by symbol. kInvalidArgument if there is no shard, if two have
  // one name or names with one CRC32C, or if `symbols` names another one.
  static absl::StatusOr<ShardMap> Create(std::vector<std::string> shards,
                                         const NameMap<std::string>& symbols);

  size_t size() const { return shards_.size(); }
  const std::vector<std::string>& shards() const { return shards_; }
  // Returns the index in shards() of the symbol's shard. Cost: a lookup, and for symbols that the
  // map does not name a hash for each shard; about 5 ns each.
  size_t ShardOf(std::string_view symbol) const;
  // Equal for two maps with the same shards, first shard and named symbols. Never changes for a map.
  uint64_t digest() const { return digest_; }

  // The weight of a shard for a symbol. Never changes: logs and databases depend on it.
  static uint64_t WeightOf(std::string_view shard, std::string_view symbol);

 private:
  std::vector<std::string> shards_;
  StringMap<size_t> named_;
  uint64_t digest_ = 0;
};

// Remembers the shards of the symbols that were asked for last. Cost: one access to 128 KiB of memory
// for a name of up to 8 bytes that it remembers, otherwise that of ShardMap::ShardOf. Threads: one
// owner.
class ShardCache {
 public:
  explicit ShardCache(std::shared_ptr<const ShardMap> map);

  const ShardMap& map() const { return *map_; }
  size_t ShardOf(std::string_view symbol);

 private:
  static constexpr size_t kSlots = 8192;
  struct Slot {
    uint64_t name = 0;  // Its bytes as a number; no name has NULs.
    size_t shard = SIZE_MAX;
  };

  std::shared_ptr<const ShardMap> map_;
  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
};

}  // namespace tickstack
