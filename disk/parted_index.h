#pragma once

// The index of a column with the attribute `p` (parted): where each symbol's rows begin. kdb+
// writes it after the positions of an enum; docs/formats.md has a drawing.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "disk/column_layout.h"

namespace tickstack::disk {

struct RowRange {
  uint64_t begin_row = 0;
  uint64_t end_row = 0;
  uint64_t rows() const { return end_row - begin_row; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// Offsets in the file of the parts of the index, for a column of `rows` rows and `keys` symbols.
struct PartedIndexPlaces {
  uint64_t keys_header = 0;
  uint64_t keys = 0;
  uint64_t slots = 0;  // The hash table, 8 bytes per slot.
  uint64_t slot_count = 0;
  uint64_t starts_header = 0;
  uint64_t starts = 0;
  uint64_t end = 0;
};
PartedIndexPlaces PlacesOfPartedIndex(const ColumnLayout& layout, uint64_t keys);
// Returns the offset of the number of keys, from which the other offsets follow.
uint64_t KeyCountOffset(const ColumnLayout& layout);

// Threads: immutable, any.
class PartedIndex {
 public:
  // `file` is the whole uncompressed file. nullopt if there is no index, or an impossible one:
  // bounds that do not ascend from 0 to the row count, a key twice, too few bytes. It is not
  // compared with the rows, since that would read the column (ColumnFile::RowsOf checks it where it
  // is used).
  // Cost: O(keys log keys), and 32 bytes of memory per key.
  static std::optional<PartedIndex> Parse(std::span<const std::byte> file,
                                          const ColumnLayout& layout);

  size_t keys() const { return keys_.size(); }
  // Keys in the order of their rows.
  int64_t key(size_t i) const { return keys_[i]; }
  RowRange rows(size_t i) const { return {starts_[i], starts_[i + 1]}; }
  // Returns the number of a key, below keys(); nullopt if there is none. Cost: a binary search.
  std::optional<size_t> NumberOf(int64_t key) const;
  // Returns the number of a key that is neither null nor below `names`; nullopt if there is none.
  // Cost: a binary search.
  std::optional<size_t> FindOutside(uint64_t names) const;
  // Returns the number of the key that has a row, below keys(). Cost: as NumberOf.
  size_t KeyOfRow(uint64_t row) const;

 private:
  std::vector<int64_t> keys_;
  std::vector<uint64_t> starts_;  // One more than there are keys.
  std::vector<uint32_t> by_key_;  // Numbers of keys, in ascending order of the keys.
};

}  // namespace tickstack::disk
