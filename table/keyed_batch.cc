#include "table/keyed_batch.h"

#include <cmath>
#include <limits>

#include "base/status.h"

namespace tickstack {
namespace {

// Multiplies and folds, because each bit in the middle of the product depends on all bits of both.
uint64_t MixIn(uint64_t hash, uint64_t element) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const auto product = static_cast<unsigned __int128>(hash ^ element) * kOdd;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <typename T>
void MixColumn(const std::byte* elements, std::vector<uint64_t>& hashes) {
  for (uint64_t& hash : hashes) {
    hash = MixIn(hash, static_cast<uint64_t>(LoadLittle<T>(elements)));
    elements += sizeof(T);
  }
}

template <typename T>
void CanonicalFloats(std::span<const std::byte> from, std::vector<std::byte>& to) {
  to.resize(from.size());
  for (size_t at = 0; at < from.size(); at += sizeof(T)) {
    const T found = LoadLittle<T>(from.data() + at);
    const T kept = std::isnan(found) ? std::numeric_limits<T>::quiet_NaN() : found + T{0};
    std::memcpy(to.data() + at, &kept, sizeof(T));
  }
}

}  // namespace

size_t StoredWidth(Type type) { return type == Type::kSymbol ? sizeof(SymbolId) : WidthOf(type); }

KeyedBatch::KeyedBatch(const Schema& schema, SymbolTable* symbols)
    : schema_(schema), symbols_(symbols), columns_(schema.columns.size()) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    columns_[i].width = StoredWidth(schema.columns[i].type);
  }
}

absl::Status KeyedBatch::StageColumn(const ColumnView& view, Staged& column) {
  // Checks the count first: each name has at least a byte, so a count that the bytes cannot hold
  // must reserve no memory.
  const bool possible =
      view.type == Type::kSymbol
          ? view.data.size() >= view.rows
          : view.data.size() % column.width == 0 && view.data.size() / column.width == view.rows;
  column.elements = view.data.data();
  if (possible && view.type != Type::kSymbol) return absl::OkStatus();
  if (possible) {
    column.ids.resize(view.rows);
    column.elements = reinterpret_cast<const std::byte*>(column.ids.data());
    if (symbols_->InternAll(view.data, column.ids) == view.data.size()) return absl::OkStatus();
  }
  return InvalidArgument("{} bytes do not hold {} values of type {}", view.data.size(), view.rows,
                         NameOf(view.type));
}

absl::Status KeyedBatch::Stage(const BatchView& batch) {
  rows_ = batch.rows;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Staged& column = columns_[i];
    TS_RETURN_IF_ERROR(Annotate(StageColumn(batch.columns[i], column), schema_.columns[i].name));
    const Type type = schema_.columns[i].type;
    if (i >= schema_.key_columns) continue;
    if (type == Type::kFloat || type == Type::kDatetime) {
      CanonicalFloats<double>(batch.columns[i].data, column.floats);
    } else if (type == Type::kReal) {
      CanonicalFloats<float>(batch.columns[i].data, column.floats);
    } else {
      continue;
    }
    column.elements = column.floats.data();
  }
  HashKeys();
  return absl::OkStatus();
}

void KeyedBatch::HashKeys() {
  hashes_.assign(rows_, 0x243f6a8885a308d3);
  for (size_t i = 0; i < schema_.key_columns; ++i) {
    const std::byte* const elements = columns_[i].elements;
    switch (columns_[i].width) {
      case 1:
        MixColumn<uint8_t>(elements, hashes_);
        break;
      case 2:
        MixColumn<uint16_t>(elements, hashes_);
        break;
      case 4:
        MixColumn<uint32_t>(elements, hashes_);
        break;
      case 8:
        MixColumn<uint64_t>(elements, hashes_);
        break;
      default:  // Is a guid.
        for (size_t row = 0; row < rows_; ++row) {
          const std::byte* const guid = elements + row * columns_[i].width;
          hashes_[row] = MixIn(MixIn(hashes_[row], LoadLittle<uint64_t>(guid)),
                               LoadLittle<uint64_t>(guid + sizeof(uint64_t)));
        }
    }
  }
}

}  // namespace tickstack
