#include "disk/parted_index.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/byte_buffer.h"
#include "disk/kdb_format.h"

namespace tickstack::disk {
namespace {

// Between the positions and the index, and after its keys, a 64-bit enum has a word with undefined
// content; a 32-bit one has none, but its index begins at a multiple of 8.
uint64_t KeysHeaderOffset(const ColumnLayout& layout) {
  const uint64_t end = layout.data_offset + layout.data_bytes();
  return layout.width == sizeof(int64_t) ? end + 8 : (end + 7) / 8 * 8;
}

int64_t KeyAt(const std::byte* at, size_t width) {
  if (width == sizeof(int64_t)) return LoadLittle<int64_t>(at);
  const auto key = LoadLittle<int32_t>(at);
  return key == kNullInt ? kNullPosition : key;
}

}  // namespace

uint64_t KeyCountOffset(const ColumnLayout& layout) { return KeysHeaderOffset(layout) + 8; }

PartedIndexPlaces PlacesOfPartedIndex(const ColumnLayout& layout, uint64_t keys) {
  const bool wide = layout.width == sizeof(int64_t);
  const uint64_t capacity = std::bit_ceil(std::max<uint64_t>(keys, wide ? 1 : 2));
  PartedIndexPlaces places;
  places.keys_header = KeysHeaderOffset(layout);
  places.keys = places.keys_header + kVectorHeaderBytes;
  places.slots = places.keys + capacity * layout.width + (wide ? 8 : 0);
  places.slot_count = 2 * capacity;
  places.starts_header = places.slots + places.slot_count * 8;
  places.starts = places.starts_header + kVectorHeaderBytes;
  places.end = places.starts + (keys + 1) * 8;
  return places;
}

std::optional<PartedIndex> PartedIndex::Parse(std::span<const std::byte> file,
                                              const ColumnLayout& layout) {
  if (layout.form != ColumnForm::kEnum || layout.attribute != Attribute::kParted) {
    return std::nullopt;
  }
  const uint64_t count_at = KeyCountOffset(layout);
  if (count_at + 8 > file.size()) return std::nullopt;
  const auto keys = LoadLittle<uint64_t>(file.data() + count_at);
  // Prevents overflow of the offsets.
  if (keys > layout.rows || keys > UINT32_MAX) return std::nullopt;
  const PartedIndexPlaces places = PlacesOfPartedIndex(layout, keys);
  if (places.end > file.size()) return std::nullopt;
  if (LoadLittle<uint64_t>(file.data() + places.starts_header + 8) != keys + 1) {
    return std::nullopt;
  }

  PartedIndex index;
  index.keys_.resize(keys);
  index.starts_.resize(keys + 1);
  for (size_t i = 0; i < keys; ++i) {
    index.keys_[i] = KeyAt(file.data() + places.keys + i * layout.width, layout.width);
  }
  for (size_t i = 0; i <= keys; ++i) {
    index.starts_[i] = LoadLittle<uint64_t>(file.data() + places.starts + i * 8);
    const bool in_order = i == 0 ? index.starts_[0] == 0 : index.starts_[i - 1] < index.starts_[i];
    if (!in_order) return std::nullopt;
  }
  if (index.starts_.back() != layout.rows) return std::nullopt;

  index.by_key_.resize(keys);
  std::iota(index.by_key_.begin(), index.by_key_.end(), uint32_t{0});
  const std::vector<int64_t>& key = index.keys_;
  std::sort(index.by_key_.begin(), index.by_key_.end(),
            [&key](uint32_t a, uint32_t b) { return key[a] < key[b]; });
  for (size_t i = 1; i < keys; ++i) {
    if (key[index.by_key_[i - 1]] == key[index.by_key_[i]]) return std::nullopt;
  }
  return index;
}

std::optional<size_t> PartedIndex::NumberOf(int64_t key) const {
  const auto found =
      std::lower_bound(by_key_.begin(), by_key_.end(), key,
                       [this](uint32_t number, int64_t sought) { return keys_[number] < sought; });
  if (found == by_key_.end() || keys_[*found] != key) return std::nullopt;
  return *found;
}

std::optional<size_t> PartedIndex::FindOutside(uint64_t names) const {
  if (keys_.empty()) return std::nullopt;
  const uint32_t largest = by_key_.back();
  if (keys_[largest] >= 0 && static_cast<uint64_t>(keys_[largest]) >= names) return largest;
  const auto above_null =
      std::partition_point(by_key_.begin(), by_key_.end(),
                           [this](uint32_t number) { return keys_[number] <= kNullPosition; });
  if (above_null == by_key_.end() || keys_[*above_null] >= 0) return std::nullopt;
  return *above_null;
}

size_t PartedIndex::KeyOfRow(uint64_t row) const {
  return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), row) -
                             starts_.begin()) -
         1;
}

}  // namespace tickstack::disk
