#pragma once

// The index of a column with attribute parted: where each symbol's rows begin. kdb+ writes it
// behind the positions of an enum; docs/formats.md draws it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "disk/column_layout.h"

namespace tickstack {

struct RowRange {
  uint64_t begin_row = 0;
  uint64_t end_row = 0;
  uint64_t rows() const { return end_row - begin_row; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// Where the parts of the index of a column of `rows` rows and `keys` symbols are, from the start of
// the file.
struct PartedIndexPlaces {
  uint64_t keys_header = 0;
  uint64_t keys = 0;
  uint64_t slots = 0;  // The hash table, 8 bytes a slot.
  uint64_t slot_count = 0;
  uint64_t starts_header = 0;
  uint64_t starts = 0;
  uint64_t end = 0;
};
PartedIndexPlaces PlacesOfPartedIndex(const ColumnLayout& layout, uint64_t keys);
// Where the count of keys is: all that must be known to compute the rest.
uint64_t KeyCountOffset(const ColumnLayout& layout);

// Threads: immutable, any.
class PartedIndex {
 public:
  // `file` is the whole uncompressed file. nullopt if there is no index, or one that cannot be
  // true: bounds that do not ascend from 0 to the rows, a key twice, too few bytes. Whether the
  // rows between two bounds hold the key is not looked at: that would read the column
  // (ColumnFile::RowsOf looks where it is used).
  // Cost: O(keys log keys), and 32 bytes of memory a key.
  static std::optional<PartedIndex> Parse(std::span<const std::byte> file,
                                          const ColumnLayout& layout);

  size_t keys() const { return keys_.size(); }
  // In order of their rows.
  int64_t key(size_t i) const { return keys_[i]; }
  RowRange rows(size_t i) const { return {starts_[i], starts_[i + 1]}; }
  // The rows of a position; nullopt if it has none. Cost: a binary search.
  std::optional<RowRange> Find(int64_t key) const;
  // A key that is neither null nor below `names`: its number; nullopt: none is. Cost: a binary
  // search.
  std::optional<size_t> FindOutside(uint64_t names) const;
  // Which key a row is of: a number below keys(). `row` is one of the column's. Cost: as Find.
  size_t KeyOfRow(uint64_t row) const;

 private:
  std::vector<int64_t> keys_;
  std::vector<uint64_t> starts_;  // One more than keys.
  std::vector<uint32_t> by_key_;  // Numbers of keys, in ascending order of the keys.
};

}  // namespace tickstack
