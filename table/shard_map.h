#pragma once

// Which shard has which symbols. A shard is a tickerplant and the processes behind it.
//
// A symbol that the map names belongs to the shard that it says. Every other symbol belongs to the
// shard with the highest weight, which is a hash of both names (rendezvous hashing). So the order
// of the shards does not matter, and a further shard takes symbols from all others, while all other
// symbols stay where they are.
//
// Threads: reentrant.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
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
  // The symbols that the map names, with the name of the shard.
  NameMap<std::string> symbols() const;
  // Returns the index in shards() of the symbol's shard. Cost: a lookup, and for symbols that the
  // map does not name a hash for each shard; about 5 ns each.
  size_t ShardOf(std::string_view symbol) const;
  // Equal for two maps with the same shards, first shard and named symbols. Never changes.
  uint64_t digest() const { return digest_; }

  // The weight of a shard for a symbol. Never changes: logs and databases depend on it.
  static uint64_t WeightOf(std::string_view shard, std::string_view symbol);

 private:
  std::vector<std::string> shards_;
  StringMap<size_t> named_;
  uint64_t digest_ = 0;
};

// Remembers the shards of the symbols that were asked for last. Cost: 2 to 4 ns for a name of up to
// 8 bytes that it remembers (one access to 512 KiB of memory), otherwise that of ShardMap::ShardOf.
// Threads: one owner.
class ShardCache {
 public:
  explicit ShardCache(std::shared_ptr<const ShardMap> map);

  const ShardMap& map() const { return *map_; }
  size_t ShardOf(std::string_view symbol);
  // Returns the shard of the name at `at`, and moves `at` behind the name's NUL, which is before
  // `end`.
  size_t ShardOfNext(const std::byte*& at, const std::byte* end);

 private:
  static constexpr int kSlotBits = 15;
  struct Slot {
    uint64_t name = 0;  // Its bytes as a little-endian number; no name has NULs.
    size_t shard = SIZE_MAX;
  };
  // Returns the shard of a name of up to 8 bytes.
  size_t ShardOfShort(uint64_t name, const std::byte* at, size_t bytes) {
    // The upper bits of a product depend on all bits of the name.
    Slot* const slots = &slots_[(name * 0x9e3779b97f4a7c15 >> (64 - kSlotBits)) & ~uint64_t{1}];
    if (slots->name == name && slots->shard != SIZE_MAX) [[likely]]
      return slots->shard;
    return ShardOfSecond(name, at, bytes, slots);
  }
  // Each name has two slots. The one that was asked for last is in the first one.
  size_t ShardOfSecond(uint64_t name, const std::byte* at, size_t bytes, Slot* slots);

  std::shared_ptr<const ShardMap> map_;
  std::vector<Slot> slots_ = std::vector<Slot>(size_t{1} << kSlotBits);
};

inline size_t ShardCache::ShardOfNext(const std::byte*& at, const std::byte* end) {
  const std::byte* const name = at;
  uint64_t word = 0;
  if (end - name > static_cast<ptrdiff_t>(sizeof word)) [[likely]] {
    std::memcpy(&word, name, sizeof word);
    // The lowest of these bits is that of the first NUL.
    const uint64_t nuls = (word - 0x0101010101010101) & ~word & 0x8080808080808080;
    if (nuls != 0) [[likely]] {
      const auto bytes = static_cast<size_t>(std::countr_zero(nuls)) / 8;
      at = name + bytes + 1;
      // Clears what follows the NUL.
      return ShardOfShort(word & ((nuls & -nuls) - 1), name, bytes);
    }
  }
  const auto bytes = std::strlen(reinterpret_cast<const char*>(name));
  at = name + bytes + 1;
  return ShardOf(AsText(std::span(name, bytes)));
}

}  // namespace tickstack
