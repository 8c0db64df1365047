#pragma once

// Which shard a process is, and by which map: what `.u.shard[]` answers. Processes that work
// together compare it, because two maps put a symbol into two shards, or into none.

#include <optional>
#include <string>
#include <string_view>

#include "table/shard_map.h"
#include "table/value.h"

namespace tickstack {

struct ShardId {
  std::string shard;  // Both are empty in a stack without shards.
  std::string map;    // DigestText of the map.
  friend bool operator==(const ShardId&, const ShardId&) = default;
};

// Returns a map's digest as 16 hexadecimal digits; empty for nullptr.
std::string DigestText(const ShardMap* map);
// `map` may be nullptr.
ShardId IdOf(const ShardMap* map, size_t shard);
// Returns `shard b of the map 0123456789abcdef`, or `no shard`.
std::string Describe(const ShardId& id);

// Returns the answer to `.u.shard[]`: the symbols `shard` and `map`, each with a symbol.
Value AnswerOf(const ShardId& id);
// nullopt for anything else.
std::optional<ShardId> ParseShardId(const Value& answer);

// The name under which a feed numbers the rows of a shard: row n of a source is another row under
// another map. `feed@sim.march2020.8000.1.shards-0123456789abcdef`, or the source's without a map.
std::string NameUnderMap(std::string_view name, std::string_view map);
struct NumberedRows {
  std::string_view name;  // That of the source.
  std::string_view map;   // Empty: the rows of all shards.
};
NumberedRows SplitName(std::string_view name);

}  // namespace tickstack
