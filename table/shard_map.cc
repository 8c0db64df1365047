#include "table/shard_map.h"

#include <algorithm>
#include <utility>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/scramble.h"
#include "base/status.h"

namespace tickstack {

uint64_t ShardMap::WeightOf(std::string_view shard, std::string_view symbol) {
  return Scramble((uint64_t{Crc32c(AsBytes(shard))} << 32) | Crc32c(AsBytes(symbol)));
}

absl::StatusOr<ShardMap> ShardMap::Create(std::vector<std::string> shards,
                                          const NameMap<std::string>& symbols) {
  if (shards.empty()) return absl::InvalidArgumentError("shards: expected at least one name");
  ShardMap map;
  map.shards_ = std::move(shards);
  std::vector<std::string> sorted = map.shards_;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    return InvalidArgument("shards: {} is there twice", *twice);
  }
  for (size_t i = 0; i < sorted.size(); ++i) {
    const auto other = std::find_if(sorted.begin(), sorted.begin() + static_cast<int64_t>(i),
                                    [&](const std::string& name) {
                                      return Crc32c(AsBytes(name)) == Crc32c(AsBytes(sorted[i]));
                                    });
    if (other == sorted.begin() + static_cast<int64_t>(i)) continue;
    return InvalidArgument("shards: {} and {} have one checksum: rename one", *other, sorted[i]);
  }
  uint64_t digest = 0;
  const auto mix = [&digest](std::string_view text) {
    digest = Scramble(digest ^ Crc32c(AsBytes(text)));
  };
  for (const std::string& shard : sorted) mix(shard);
  mix(map.shards_.front());
  for (const auto& [symbol, shard] : symbols) {
    const auto found = std::ranges::find(map.shards_, shard);
    if (found == map.shards_.end()) {
      return InvalidArgument("symbol {}: there is no shard {}", symbol, shard);
    }
    map.named_[symbol] = static_cast<size_t>(found - map.shards_.begin());
    mix(symbol);
    mix(shard);
  }
  map.digest_ = digest;
  return map;
}

NameMap<std::string> ShardMap::symbols() const {
  NameMap<std::string> symbols;
  for (const auto& [symbol, shard] : named_) symbols[symbol] = shards_[shard];
  return symbols;
}

size_t ShardMap::ShardOf(std::string_view symbol) const {
  if (!named_.empty()) {
    if (const auto found = named_.find(symbol); found != named_.end()) return found->second;
  }
  size_t best = 0;
  uint64_t most = 0;
  for (size_t i = 0; i < shards_.size(); ++i) {
    const uint64_t weight = WeightOf(shards_[i], symbol);
    if (weight > most || i == 0) {
      best = i;
      most = weight;
    }
  }
  return best;
}

int ShardColumnOf(const Schema& schema) {
  if (const int sym = schema.Find("sym"); sym >= 0) {
    if (schema.columns[static_cast<size_t>(sym)].type == Type::kSymbol) return sym;
  }
  const auto first = std::ranges::find(schema.columns, Type::kSymbol, &ColumnSpec::type);
  return first == schema.columns.end() ? -1 : static_cast<int>(first - schema.columns.begin());
}

ShardCache::ShardCache(std::shared_ptr<const ShardMap> map) : map_(std::move(map)) {}

size_t ShardCache::ShardOfSecond(uint64_t name, const std::byte* at, size_t bytes, Slot* slots) {
  std::swap(slots[0], slots[1]);
  if (slots->name != name || slots->shard == SIZE_MAX) {
    *slots = {name, map_->ShardOf(AsText(std::span(at, bytes)))};
  }
  return slots->shard;
}

size_t ShardCache::ShardOf(std::string_view symbol) {
  uint64_t name = 0;
  if (symbol.size() > sizeof name) return map_->ShardOf(symbol);
  std::memcpy(&name, symbol.data(), symbol.size());
  return ShardOfShort(name, AsBytes(symbol).data(), symbol.size());
}

}  // namespace tickstack
