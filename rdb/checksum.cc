#include "rdb/checksum.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/crc32c.h"
#include "base/status.h"

namespace tickstack::rdb {
namespace {

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;

// Mixes the bits of a number: splitmix64's finaliser.
uint64_t Scatter(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t WithValue(uint64_t hash, uint64_t value) { return std::rotl(hash ^ value, 29) * kOdd; }

uint64_t HashOf(std::span<const std::byte> bytes) {
  return Scatter((uint64_t{bytes.size()} << 32) ^ Crc32c(bytes));
}

// The rows of one chunk, hashed column by column.
class ChunkHashes {
 public:
  ChunkHashes(const Snapshot& snapshot, size_t chunk, size_t first, size_t rows)
      : snapshot_(snapshot), chunk_(chunk), first_(first), hashes_(rows, 0) {}

  void Add(size_t column, Type type, std::vector<uint64_t>& names) {
    if (type == Type::kSymbol) return AddNames(column, names);
    switch (WidthOf(type)) {
      case 1:
        return AddValues<uint8_t>(column);
      case 2:
        return AddValues<uint16_t>(column);
      case 4:
        return AddValues<uint32_t>(column);
      case 8:
        return AddValues<uint64_t>(column);
      case 16:
        return AddPairs(column);
      default:
        return AddItems(column);
    }
  }
  const std::vector<uint64_t>& hashes() const { return hashes_; }

 private:
  template <typename T>
  void AddValues(size_t column) {
    const std::span<const T> values = snapshot_.Chunk<T>(column, chunk_);
    for (size_t i = 0; i < hashes_.size(); ++i) {
      hashes_[i] = WithValue(hashes_[i], values[first_ + i]);
    }
  }
  void AddPairs(size_t column) {
    const std::span<const std::byte> bytes = snapshot_.ChunkBytes(column, chunk_);
    for (size_t i = 0; i < hashes_.size(); ++i) {
      hashes_[i] = WithValue(hashes_[i], HashOf(bytes.subspan((first_ + i) * 16, 16)));
    }
  }
  // Adds a column of names. `names[id]` is the hash of a symbol's name, 0 until it is first needed.
  void AddNames(size_t column, std::vector<uint64_t>& names) {
    const SymbolTable& symbols = snapshot_.table().symbols();
    const std::span<const SymbolId> ids = snapshot_.Chunk<SymbolId>(column, chunk_);
    for (size_t i = 0; i < hashes_.size(); ++i) {
      const auto id = static_cast<size_t>(ids[first_ + i]);
      if (id >= names.size()) names.resize(std::max(2 * names.size(), id + 1), 0);
      if (names[id] == 0) names[id] = HashOf(AsBytes(symbols.NameOf(ids[first_ + i]))) | 1;
      hashes_[i] = WithValue(hashes_[i], names[id]);
    }
  }
  void AddItems(size_t column) {
    const size_t chunk_begin = snapshot_.layout().BeginRow(chunk_);
    for (size_t i = 0; i < hashes_.size(); ++i) {
      hashes_[i] = WithValue(hashes_[i], HashOf(snapshot_.Item(column, chunk_begin + first_ + i)));
    }
  }

  const Snapshot& snapshot_;
  const size_t chunk_;
  const size_t first_;  // First row of the chunk.
  std::vector<uint64_t> hashes_;
};

}  // namespace

absl::StatusOr<uint64_t> Checksum(const Snapshot& snapshot, size_t first_row,
                                  std::string_view except) {
  const Schema& schema = snapshot.schema();
  if (schema.key_columns > 0) return InvalidArgument("type: {} has a key", schema.table);
  if (first_row > snapshot.rows()) {
    return InvalidArgument("length: row {} of {}, which has {}", first_row, schema.table,
                           snapshot.rows());
  }
  std::vector<uint64_t> names;
  uint64_t sum = 0, row = 0;
  for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
    const size_t begin = snapshot.layout().BeginRow(chunk);
    const size_t end = std::min(begin + snapshot.layout().Rows(chunk), snapshot.rows());
    if (end <= first_row) continue;
    const size_t first = std::max(begin, first_row) - begin;
    ChunkHashes chunk_hashes(snapshot, chunk, first, end - begin - first);
    for (size_t column = 0; column < schema.columns.size(); ++column) {
      if (schema.columns[column].name == except) continue;
      chunk_hashes.Add(column, schema.columns[column].type, names);
    }
    for (const uint64_t hash : chunk_hashes.hashes()) sum += Scatter(hash + ++row * kOdd);
  }
  return sum;
}

}  // namespace tickstack::rdb
