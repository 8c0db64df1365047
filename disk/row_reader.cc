#include "disk/row_reader.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "disk/column_file.h"
#include "table/codec.h"

namespace tickstack::disk {
namespace {

void AppendSymbol(std::string_view name, ByteBuffer& out) {
  out.Append(name);
  out.AppendLittle(uint8_t{0});
}

class StoredRows final : public RowReader {
 public:
  struct Column {
    std::shared_ptr<const ColumnFile> file;
    PinnedBytes elements;           // For kFixed.
    std::vector<PinnedBytes> held;  // For the other kinds: decompresses nothing twice.
  };
  StoredRows(Schema schema, uint64_t rows, const SymbolDomains* domains,
             std::vector<Column> columns)
      : RowReader(std::move(schema), rows), domains_(domains), columns_(std::move(columns)) {}

 private:
  absl::Status AppendTo(size_t column, uint64_t begin_row, uint64_t end_row,
                        ByteBuffer& out) override {
    const ColumnFile& file = *columns_[column].file;
    switch (file.kind()) {
      case ColumnKind::kFixed: {
        const size_t width = file.element_bytes();
        out.Append(columns_[column].elements.span().subspan(begin_row * width,
                                                            (end_row - begin_row) * width));
        return absl::OkStatus();
      }
      case ColumnKind::kEnum:
        return AppendEnum(file, begin_row, end_row, out);
      case ColumnKind::kSymbols:
      case ColumnKind::kItems:
        return AppendItems(file, begin_row, end_row, out);
    }
    return absl::OkStatus();
  }

  absl::Status AppendEnum(const ColumnFile& file, uint64_t begin_row, uint64_t end_row,
                          ByteBuffer& out) {
    symbols_.resize(end_row - begin_row);
    TS_RETURN_IF_ERROR(file.ReadSymbols({begin_row, end_row}, symbols_));
    for (const SymbolId id : symbols_) {
      AppendSymbol(id == kNullSymbol ? std::string_view() : domains_->symbols().NameOf(id), out);
    }
    return absl::OkStatus();
  }

  static absl::Status AppendItems(const ColumnFile& file, uint64_t begin_row, uint64_t end_row,
                                  ByteBuffer& out) {
    for (uint64_t row = begin_row; row < end_row; ++row) {
      TS_ASSIGN_OR_RETURN(const Value item, file.ItemAt(row));
      if (file.kind() == ColumnKind::kSymbols) {
        AppendSymbol(item.symbol(), out);
        continue;
      }
      const absl::Status fits = EncodedBytes(item).status();
      if (!fits.ok()) return Annotate(fits, fmt::format("{}: row {}", file.path(), row));
      Encode(item, out);
    }
    return absl::OkStatus();
  }

  const SymbolDomains* const domains_;
  const std::vector<Column> columns_;
  std::vector<SymbolId> symbols_;
};

class SnapshotRows final : public RowReader {
 public:
  explicit SnapshotRows(const Snapshot& snapshot)
      : RowReader(snapshot.schema(), snapshot.rows()), snapshot_(snapshot) {}

 private:
  absl::Status AppendTo(size_t column, uint64_t begin_row, uint64_t end_row,
                        ByteBuffer& out) override {
    const Type type = snapshot_.schema().columns[column].type;
    if (type == Type::kList) {
      for (uint64_t row = begin_row; row < end_row; ++row) out.Append(snapshot_.Item(column, row));
      return absl::OkStatus();
    }
    const size_t width = type == Type::kSymbol ? sizeof(SymbolId) : WidthOf(type);
    for (uint64_t row = begin_row; row < end_row;) {
      const ChunkLayout::Chunk chunk = snapshot_.layout().ChunkOf(row);
      const uint64_t end = std::min<uint64_t>(end_row, chunk.end_row);
      const std::span<const std::byte> bytes =
          snapshot_.ChunkBytes(column, chunk.number)
              .subspan((row - chunk.begin_row) * width, (end - row) * width);
      if (type == Type::kSymbol) {
        AppendNames(bytes, out);
      } else {
        out.Append(bytes);
      }
      row = end;
    }
    return absl::OkStatus();
  }

  void AppendNames(std::span<const std::byte> bytes, ByteBuffer& out) const {
    const std::span<const SymbolId> ids(reinterpret_cast<const SymbolId*>(bytes.data()),
                                        bytes.size() / sizeof(SymbolId));
    for (const SymbolId id : ids) {
      AppendSymbol(id == kNullSymbol ? std::string_view() : snapshot_.table().symbols().NameOf(id),
                   out);
    }
  }

  const Snapshot snapshot_;
};

absl::StatusOr<std::unique_ptr<RowReader>> ReadColumns(const SplayedTable& table,
                                                       const std::string& name,
                                                       std::span<const size_t> selected) {
  Schema schema{name, {}, 0};
  std::vector<StoredRows::Column> columns;
  TS_ASSIGN_OR_RETURN(const uint64_t rows, table.Rows());
  for (const size_t i : selected) {
    StoredRows::Column column;
    TS_ASSIGN_OR_RETURN(column.file, table.Column(i));
    if (column.file->kind() == ColumnKind::kFixed) {
      TS_ASSIGN_OR_RETURN(column.elements, column.file->Elements());
    } else {
      TS_ASSIGN_OR_RETURN(column.held, column.file->Pin());
    }
    schema.columns.push_back({table.column_names()[i], column.file->type()});
    columns.push_back(std::move(column));
  }
  return std::make_unique<StoredRows>(std::move(schema), rows, table.domains(), std::move(columns));
}

}  // namespace

RowReader::RowReader(Schema schema, uint64_t rows)
    : schema_(std::move(schema)), rows_(rows), selected_(schema_.columns.size()) {
  std::iota(selected_.begin(), selected_.end(), size_t{0});
}

absl::StatusOr<BatchView> RowReader::Read(uint64_t begin_row, uint64_t end_row) {
  bytes_.resize(selected_.size());
  columns_.clear();
  const auto rows = static_cast<size_t>(end_row - begin_row);
  for (size_t i = 0; i < selected_.size(); ++i) {
    bytes_[i].clear();
    TS_RETURN_IF_ERROR(AppendTo(selected_[i], begin_row, end_row, bytes_[i]));
    columns_.push_back(
        {schema_.columns[selected_[i]].type, Attribute::kNone, rows, bytes_[i].span()});
  }
  return BatchView{columns_, rows};
}

absl::StatusOr<std::unique_ptr<RowReader>> ReadRows(const SplayedTable& table,
                                                    const std::string& name) {
  std::vector<size_t> columns(table.columns());
  std::iota(columns.begin(), columns.end(), size_t{0});
  return ReadColumns(table, name, columns);
}

absl::StatusOr<std::unique_ptr<RowReader>> ReadColumn(const SplayedTable& table,
                                                      const std::string& name, size_t column) {
  return ReadColumns(table, name, std::span(&column, 1));
}

std::unique_ptr<RowReader> ReadRows(const Snapshot& snapshot) {
  return std::make_unique<SnapshotRows>(snapshot);
}

}  // namespace tickstack::disk
