#include "query/columns/stored_column.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/parallel.h"

namespace tickstack::query {
namespace {

// Returns a constant as the bytes of one element.
std::vector<std::byte> ElementOf(const Value& constant) {
  std::vector<std::byte> element;
  if (constant.type() == Type::kSymbol) {
    const auto bytes = std::as_bytes(std::span(&kNullSymbol, 1));
    element.assign(bytes.begin(), bytes.end());
  } else if (IsFixedWidth(constant.type())) {
    VisitElementType(constant.type(), [&]<typename T>(std::type_identity<T>) {
      const T value = constant.as<T>();
      const auto bytes = std::as_bytes(std::span(&value, 1));
      element.assign(bytes.begin(), bytes.end());
    });
  }
  return element;
}

}  // namespace

absl::Status StoredColumn::OpenIn(size_t part) {
  PartColumn& column = columns_[part];
  TS_ASSIGN_OR_RETURN(column.opened, OpenPart(parts_->table(), parts_->parts()[part], index_));
  const disk::ColumnFile* const file = column.opened.file.get();
  if (file == nullptr) {
    column.constant = ElementOf(column.opened.constant);
    return absl::OkStatus();
  }
  // Many threads decompress it here; otherwise the reader of the first row would do it alone.
  TS_ASSIGN_OR_RETURN(column.held, OrLimit(file->Pin()));
  switch (file->kind()) {
    case disk::ColumnKind::kItems:
    case disk::ColumnKind::kSymbols:
      return absl::OkStatus();
    case disk::ColumnKind::kFixed: {
      TS_ASSIGN_OR_RETURN(const disk::PinnedBytes elements, file->ElementsInPlace());
      column.elements = elements.span();  // These are views into the held bytes.
      return absl::OkStatus();
    }
    case disk::ColumnKind::kEnum: {
      if (file->domain() == nullptr) {
        return NotFound("{}: its names are in {}, which the database does not have", file->path(),
                        file->domain_name());
      }
      TS_ASSIGN_OR_RETURN(column.index, OrLimit(file->Parted()));
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const StoredColumn>> StoredColumn::Open(
    std::shared_ptr<const StoredParts> parts, size_t column, const Budget& budget) {
  std::shared_ptr<StoredColumn> opened(new StoredColumn(std::move(parts), column));
  TS_RETURN_IF_ERROR(ParallelTasks(budget, opened->columns_.size(),
                                   [&](size_t part) { return opened->OpenIn(part); }));
  const Type type = opened->type();
  opened->width_ = type == Type::kSymbol ? sizeof(SymbolId) : WidthOf(type);
  opened->direct_ = IsFixedWidth(type);
  opened->indexed_ = type == Type::kSymbol;
  for (const PartColumn& part : opened->columns_) {
    if (part.opened.file == nullptr) opened->direct_ = false;
    if (part.opened.file != nullptr && part.opened.file->has_checksums()) {
      opened->has_checksums_ = true;
      opened->has_archived_ |= part.opened.file->is_archived();
    }
    if (part.index == nullptr) opened->indexed_ = false;
  }
  return opened;
}

// Says so of as many rows as are fetched ahead, and of more when these are read.
void StoredColumn::WillReadRange(size_t row, size_t end_row) const {
  constexpr size_t kPartsMax = 4;
  for (size_t parts = 0; row < end_row && parts < kPartsMax; ++parts) {
    const ChunkLayout::Chunk chunk = layout().ChunkOf(row);
    const size_t part_end = std::min(end_row, chunk.end_row);
    if (const disk::ColumnFile* const file = columns_[chunk.number].opened.file.get()) {
      file->WillRead({row - chunk.begin_row, part_end - chunk.begin_row});
    }
    row = part_end;
  }
}

absl::Status StoredColumn::VerifyRange(size_t row, size_t end_row) const {
  while (row < end_row) {
    const ChunkLayout::Chunk chunk = layout().ChunkOf(row);
    const size_t part_end = std::min(end_row, chunk.end_row);
    TS_RETURN_IF_ERROR(OrLimit(columns_[chunk.number].opened.file->VerifyRows(
        {row - chunk.begin_row, part_end - chunk.begin_row})));
    row = part_end;
  }
  return absl::OkStatus();
}

// Verifies the block of a row, and returns the rows of the column around it that are verified.
absl::StatusOr<disk::RowRange> StoredColumn::VerifyRowsAround(size_t row) const {
  const ChunkLayout::Chunk chunk = layout().ChunkOf(row);
  TS_ASSIGN_OR_RETURN(
      const disk::RowRange verified,
      OrLimit(columns_[chunk.number].opened.file->VerifyRowsAround(row - chunk.begin_row)));
  return disk::RowRange{chunk.begin_row + verified.begin_row, chunk.begin_row + verified.end_row};
}

// Looks at few rows of each block: the number of rows that are skipped doubles until one is behind
// the block.
absl::Status StoredColumn::VerifyAscendingRows(std::span<const uint32_t> rows) const {
  while (!rows.empty()) {
    TS_ASSIGN_OR_RETURN(const disk::RowRange verified, VerifyRowsAround(rows.front()));
    size_t step = 1;
    while (step < rows.size() && rows[step] < verified.end_row) step *= 2;
    const auto from = rows.begin() + static_cast<ptrdiff_t>(step / 2);
    const auto to = rows.begin() + static_cast<ptrdiff_t>(std::min(step, rows.size()));
    rows = {std::lower_bound(from, to, verified.end_row), rows.end()};
  }
  return absl::OkStatus();
}

absl::Status StoredColumn::VerifyRows(std::span<const uint32_t> rows) const {
  disk::RowRange verified{0, 0};
  for (const uint32_t row : rows) {
    if (row - verified.begin_row < verified.rows() || row == kNoItem) continue;
    TS_ASSIGN_OR_RETURN(verified, VerifyRowsAround(row));
  }
  return absl::OkStatus();
}

absl::Status StoredColumn::Read(size_t row, size_t n, void* out) const {
  auto* at = static_cast<std::byte*>(out);
  while (n > 0) {
    const ChunkLayout::Chunk chunk = layout().ChunkOf(row);
    const PartColumn& part = columns_[chunk.number];
    const size_t rows = std::min(n, chunk.end_row - row), in_part = row - chunk.begin_row;
    if (part.opened.file == nullptr) {
      for (size_t i = 0; i < rows; ++i) {
        std::memcpy(at + i * width_, part.constant.data(), width_);
      }
    } else if (type() == Type::kSymbol) {
      TS_RETURN_IF_ERROR(OrLimit(part.opened.file->ReadSymbols(
          {in_part, in_part + rows}, {reinterpret_cast<SymbolId*>(at), rows})));
    } else {
      TS_RETURN_IF_ERROR(OrLimit(part.opened.file->VerifyRows({in_part, in_part + rows})));
      std::memcpy(at, part.elements.data() + in_part * width_, rows * width_);
    }
    at += rows * width_;
    row += rows;
    n -= rows;
  }
  return absl::OkStatus();
}

absl::Status StoredColumn::ReadAt(std::span<const uint32_t> rows, void* out) const {
  auto* at = static_cast<std::byte*>(out);
  for (const uint32_t row : rows) {
    TS_RETURN_IF_ERROR(Read(row, 1, at));
    at += width_;
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> StoredColumn::At(size_t row) const {
  const ChunkLayout::Chunk chunk = layout().ChunkOf(row);
  const PartColumn& part = columns_[chunk.number];
  if (part.opened.file == nullptr) return part.opened.constant;
  return OrLimit(part.opened.file->ItemAt(row - chunk.begin_row));
}

absl::Status StoredColumn::CheckNamesIn(size_t part) const {
  const disk::ColumnFile& file = *columns_[part].opened.file;
  const disk::PartedIndex& index = *columns_[part].index;
  const std::optional<size_t> outside = index.FindOutside(file.domain()->ids().size());
  if (!outside) return absl::OkStatus();
  return file.OutsideOfDomain(index.rows(*outside).begin_row, index.key(*outside));
}

absl::Status StoredColumn::CheckNames() const {
  TS_CHECK(indexed_);
  for (size_t i = 0; i < columns_.size(); ++i) TS_RETURN_IF_ERROR(CheckNamesIn(i));
  return absl::OkStatus();
}

absl::Status StoredColumn::RangesOf(SymbolId id, std::vector<disk::RowRange>& ranges) const {
  TS_CHECK(indexed_);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const PartColumn& part = columns_[i];
    const uint64_t begin_row = parts_->parts()[i].begin_row;
    const disk::SymbolDomain& domain = *part.opened.file->domain();
    const size_t first = ranges.size();
    const auto add = [&](int64_t position) -> absl::Status {
      TS_ASSIGN_OR_RETURN(const std::optional<disk::RowRange> found,
                          OrLimit(part.opened.file->RowsOf(position)));
      if (found.has_value() && found->rows() > 0) {
        ranges.push_back({begin_row + found->begin_row, begin_row + found->end_row});
      }
      return absl::OkStatus();
    };
    if (domain.positions_are_ids() && id != kNullSymbol) {
      if (static_cast<size_t>(id) < domain.ids().size()) TS_RETURN_IF_ERROR(add(id));
    } else {
      // Several positions may have this name, in any order.
      for (size_t key = 0; key < part.index->keys(); ++key) {
        const int64_t position = part.index->key(key);
        if (domain.IdAt(position) == id) TS_RETURN_IF_ERROR(add(position));
      }
      std::sort(ranges.begin() + static_cast<ptrdiff_t>(first), ranges.end(),
                [](const disk::RowRange& a, const disk::RowRange& b) {
                  return a.begin_row < b.begin_row;
                });
    }
    if (ranges.size() > first || id == kNullSymbol) continue;
    if (const absl::Status named = CheckNamesIn(i); !named.ok()) {
      const bool has_name = std::ranges::find(domain.ids(), id) != domain.ids().end();
      if (!has_name) return named;
    }
  }
  return absl::OkStatus();
}

absl::Status StoredColumn::ForEachRange(const RowSet& rows,
                                        absl::FunctionRef<void(SymbolId, disk::RowRange)> f) const {
  TS_CHECK(indexed_);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const PartColumn& part = columns_[i];
    const uint64_t begin_row = parts_->parts()[i].begin_row;
    for (size_t key = 0; key < part.index->keys(); ++key) {
      const int64_t position = part.index->key(key);
      TS_ASSIGN_OR_RETURN(const std::optional<disk::RowRange> found,
                          OrLimit(part.opened.file->RowsOf(position)));
      if (!found.has_value() || found->rows() == 0) continue;
      const disk::RowRange range = {begin_row + found->begin_row, begin_row + found->end_row};
      if (const std::optional<SymbolId> id = part.opened.file->domain()->IdAt(position)) {
        f(*id, range);
        continue;
      }
      std::optional<uint64_t> asked;
      EachRangeOf(rows, [&](uint64_t begin, uint64_t end) {
        const uint64_t row = std::max(begin, range.begin_row);
        if (!asked && row < std::min(end, range.end_row)) asked = row;
      });
      if (asked) return part.opened.file->OutsideOfDomain(*asked - begin_row, position);
    }
  }
  return absl::OkStatus();
}

}  // namespace tickstack::query
