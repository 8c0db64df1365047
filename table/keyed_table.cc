#include "table/keyed_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/status.h"
#include "mem/medium.h"

namespace tickstack {
namespace {

std::vector<VersionedBlocks::ColumnPlace> PlacesOf(const Schema& schema,
                                                   std::span<mem::Tier* const> tiers) {
  std::vector<VersionedBlocks::ColumnPlace> places;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    places.push_back({StoredWidth(schema.columns[i].type), tiers[i], i >= schema.key_columns});
  }
  return places;
}

struct GuidItem {
  std::byte bytes[16];
};

}  // namespace

absl::Status CheckKeyedSchema(const Schema& schema) {
  if (schema.key_columns == 0) return absl::OkStatus();
  for (const ColumnSpec& column : schema.columns) {
    if (column.type != Type::kList) continue;
    return InvalidArgument(
        "table {}: column {} is of strings or other nested values, expected types of one width "
        "each: rows of a keyed table are replaced in place",
        schema.table, column.name);
  }
  return absl::OkStatus();
}

KeyedTable::KeyedTable(const Schema& schema, SymbolTable* symbols,
                       std::span<mem::Tier* const> tiers, mem::Tier* index_tier, int indexed_column,
                       size_t rows_per_block, size_t rows_max)
    : schema_(schema),
      indexed_column_(indexed_column),
      rows_max_(rows_max),
      blocks_(ChunkLayout(rows_per_block), PlacesOf(schema, tiers)),
      keys_(index_tier),
      batch_(schema, symbols) {
  TS_CHECK(schema.key_columns > 0 && CheckKeyedSchema(schema).ok());
  TS_CHECK(indexed_column < static_cast<int>(schema.key_columns));
  if (indexed_column >= 0) symbol_index_.emplace(index_tier, nullptr);
}

// Returns whether a row of the table has the key of a row of the batch.
bool KeyedTable::HasKey(uint32_t row, size_t batch_row) const {
  const ChunkLayout::Chunk block = layout().ChunkOf(row);
  for (size_t column = 0; column < schema_.key_columns; ++column) {
    const size_t width = batch_.width(column);
    if (!SameElement(blocks_.Piece(column, block.number) + (row - block.begin_row) * width,
                     batch_.Elements(column) + batch_row * width, width)) {
      return false;
    }
  }
  return true;
}

// Returns the row for a batch row's key that no row of the table has.
uint32_t KeyedTable::NewRowOf(size_t row) {
  if (fresh_.empty()) fresh_slots_.assign(std::bit_ceil(2 * batch_.rows()), 0);
  const size_t mask = fresh_slots_.size() - 1;
  size_t at = batch_.hash(row) & mask;
  for (; fresh_slots_[at] != 0; at = (at + 1) & mask) {
    const uint32_t number = fresh_slots_[at] - 1;
    if (batch_.SameKey(fresh_[number], row)) return static_cast<uint32_t>(rows_ + number);
  }
  fresh_.push_back(static_cast<uint32_t>(row));
  fresh_slots_[at] = static_cast<uint32_t>(fresh_.size());
  return static_cast<uint32_t>(rows_ + fresh_.size() - 1);
}

void KeyedTable::FindRows() {
  constexpr size_t kAhead = 16;  // How many rows ahead their slots are fetched.
  const size_t rows = batch_.rows();
  targets_.resize(rows);
  fresh_.clear();
  changed_blocks_.clear();
  block_change_.resize(layout().Chunks(rows_));
  mem::MediumAccess keys_access(keys_.medium()), columns_access(blocks_.medium(0));
  if (++batch_number_ == 0) {  // After 4 billion batches the numbers begin again.
    std::ranges::fill(block_change_, 0);
    batch_number_ = 1;
  }
  for (size_t row = 0; row < std::min(rows, kAhead); ++row) keys_.Prefetch(batch_.hash(row));
  for (size_t row = 0; row < rows; ++row) {
    if (row + kAhead < rows) keys_.Prefetch(batch_.hash(row + kAhead));
    const uint32_t found = keys_.Find(
        batch_.hash(row), [this, row](uint32_t candidate) { return HasKey(candidate, row); });
    targets_[row] = found == KeyIndex::kNoRow ? NewRowOf(row) : found;
    if (found == KeyIndex::kNoRow) continue;
    const size_t block = layout().NumberOf(found);
    if (block_change_[block] == batch_number_) continue;
    block_change_[block] = batch_number_;
    changed_blocks_.push_back(static_cast<uint32_t>(block));
  }
  // Charges a slot for each row, which is fetched ahead, and the key of those that exist.
  keys_access.ReadScattered(rows);
  columns_access.ReadScattered((rows - fresh_.size()) * schema_.key_columns);
}

// Reserves everything that can fail, without a change that a reader or the next batch would see.
absl::Status KeyedTable::Reserve() {
  if (fresh_.size() > rows_max_ - rows_) {
    return ResourceExhausted("{} rows more than {}: it takes {} rows", fresh_.size(), rows_,
                             rows_max_);
  }
  fresh_hashes_.clear();
  for (const uint32_t row : fresh_) fresh_hashes_.push_back(batch_.hash(row));
  TS_RETURN_IF_ERROR(Annotate(keys_.Reserve(fresh_hashes_), "index"));
  TS_RETURN_IF_ERROR(blocks_.Reserve(changed_blocks_, rows_ + fresh_.size()));
  if (!symbol_index_) return absl::OkStatus();
  const std::byte* const ids = batch_.Elements(static_cast<size_t>(indexed_column_));
  fresh_symbols_.clear();
  for (const uint32_t row : fresh_) {
    fresh_symbols_.push_back(LoadLittle<SymbolId>(ids + row * sizeof(SymbolId)));
  }
  absl::Status indexed = symbol_index_->Reserve(fresh_symbols_);
  if (indexed.ok()) return indexed;
  symbol_index_->Cancel(fresh_symbols_);
  blocks_.Cancel();
  return Annotate(indexed, "index");
}

// Writes in the batch's order, so that the last row of a key remains.
template <typename T>
void KeyedTable::Replace(size_t column, std::span<const uint32_t> targets) {
  const std::byte* from = batch_.Elements(column);
  ChunkLayout::Chunk block{};  // The current block.
  std::byte* piece = nullptr;
  for (const size_t row : targets) {
    if (row < block.begin_row || row >= block.end_row) {
      block = layout().ChunkOf(row);
      piece = blocks_.Piece(column, block.number);
    }
    std::memcpy(piece + (row - block.begin_row) * sizeof(T), from, sizeof(T));
    from += sizeof(T);
  }
}

void KeyedTable::ReplaceColumn(size_t column) {
  switch (batch_.width(column)) {
    case 1:
      return Replace<uint8_t>(column, targets_);
    case 2:
      return Replace<uint16_t>(column, targets_);
    case 4:
      return Replace<uint32_t>(column, targets_);
    case 8:
      return Replace<uint64_t>(column, targets_);
    default:
      return Replace<GuidItem>(column, targets_);
  }
}

// Appends the keys of new rows only: keys of all other rows, at which readers look, do not change.
void KeyedTable::AppendKeys(size_t column) {
  const size_t width = batch_.width(column);
  size_t row = rows_;
  for (const uint32_t from : fresh_) {
    const ChunkLayout::Chunk block = layout().ChunkOf(row);
    std::memcpy(blocks_.Piece(column, block.number) + (row - block.begin_row) * width,
                batch_.Elements(column) + from * width, width);
    ++row;
  }
}

void KeyedTable::Write() {
  blocks_.Install();
  for (size_t column = 0; column < schema_.columns.size(); ++column) {
    mem::MediumAccess access(blocks_.medium(column));
    if (column < schema_.key_columns) {
      AppendKeys(column);
    } else {
      ReplaceColumn(column);
    }
    // Charges the new rows; copies of blocks were charged when they were made.
    access.WroteScattered(fresh_.size() * batch_.width(column));
  }
  mem::MediumAccess access(keys_.medium());
  for (size_t i = 0; i < fresh_.size(); ++i) {
    keys_.Insert(fresh_hashes_[i], static_cast<uint32_t>(rows_ + i));
  }
  constexpr size_t kLineBytes = 64;  // Each slot is in a cache line of its own.
  access.WroteScattered(fresh_.size() * kLineBytes);
  if (symbol_index_) {
    symbol_index_->Append(fresh_symbols_, nullptr, static_cast<uint32_t>(rows_));
  }
}

absl::Status KeyedTable::Upsert(const BatchView& batch) {
  TS_RETURN_IF_ERROR(batch_.Stage(batch));
  FindRows();
  TS_RETURN_IF_ERROR(Reserve());
  Write();
  rows_ += fresh_.size();
  blocks_.Publish(rows_);
  return absl::OkStatus();
}

}  // namespace tickstack
