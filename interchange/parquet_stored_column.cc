#include "interchange/parquet_stored_column.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/byte_buffer.h"
#include "base/status.h"
#include "table/value.h"

namespace tickstack::interchange::parquet {
namespace {

void WriteNulls(size_t rows, PageWriter& pages, Chunk& chunk) {
  for (size_t begin = 0; begin < rows; begin += kRowsPerPage) {
    pages.WriteRows(Validity(std::min(kRowsPerPage, rows - begin)), Encoding::kPlain, "", chunk);
  }
}

// Reads the position of an enum. As in kdb+, the null position is that of its width.
int64_t PositionOf(std::span<const std::byte> positions, size_t width, size_t row) {
  if (width == sizeof(int64_t)) {
    int64_t position;
    std::memcpy(&position, positions.data() + row * width, sizeof position);
    return position;
  }
  int32_t position;
  std::memcpy(&position, positions.data() + row * width, sizeof position);
  return position == kNullInt ? kNullLong : position;
}

// Appends an item of a nested column. An empty list is an empty text: that is how q shows it.
absl::Status AddItem(const Value& item, uint64_t row, TextPages& texts) {
  if (item.is_null() || (item.is_atom_of(Type::kSymbol) && item.symbol().empty())) {
    texts.AddNull();
    return absl::OkStatus();
  }
  const bool is_empty_list = item.is_list() && item.count() == 0;
  if (!is_empty_list && !item.is_string() && !item.is_atom_of(Type::kChar) &&
      !item.is_atom_of(Type::kSymbol)) {
    return InvalidArgument(
        "row {}: a value of type {}; nested columns are exported only if they "
        "hold texts, and --skip leaves a column out",
        row, NameOf(item.type()));
  }
  const std::string_view text = is_empty_list ? std::string_view() : item.text();
  if (text.size() > kTextBytesMax) {
    return InvalidArgument("row {}: a text of {} bytes, at most {} in a Parquet file", row,
                           text.size(), kTextBytesMax);
  }
  texts.Add(text);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StoredColumnWriter> StoredColumnWriter::Make(
    const ColumnSpec& column, Dialect dialect, std::shared_ptr<const disk::ColumnFile> file,
    const SymbolTable& symbols) {
  if (file != nullptr && file->rows() > 0 && file->type() != column.type) {
    return InvalidArgument("{}: a column of {}s, but the newest partition has {}s", file->path(),
                           NameOf(file->type()), NameOf(column.type));
  }
  if (file != nullptr && file->kind() == disk::ColumnKind::kEnum && file->domain() == nullptr) {
    return NotFound("{}: its domain {} is not in the database", file->path(), file->domain_name());
  }
  return StoredColumnWriter(column.type, dialect, std::move(file), symbols);
}

absl::StatusOr<Chunk> StoredColumnWriter::WriteRows(disk::RowRange rows, PageWriter& pages) const {
  Chunk chunk = pages.Begin(rows.rows());
  if (file_ == nullptr) {
    WriteNulls(rows.rows(), pages, chunk);
    return chunk;
  }
  absl::Status status;
  switch (file_->kind()) {
    case disk::ColumnKind::kFixed:
      status = WriteFixed(rows, pages, chunk);
      break;
    case disk::ColumnKind::kEnum:
      status = WriteEnum(rows, pages, chunk);
      break;
    case disk::ColumnKind::kSymbols:
    case disk::ColumnKind::kItems:
      status = WriteItems(rows, pages, chunk);
      break;
  }
  TS_RETURN_IF_ERROR(status);
  return chunk;
}

absl::Status StoredColumnWriter::WriteFixed(disk::RowRange rows, PageWriter& pages,
                                            Chunk& chunk) const {
  ByteBuffer elements;
  elements.resize(rows.rows() * file_->element_bytes());
  TS_RETURN_IF_ERROR(file_->ReadElements(rows, elements.span()));
  return Annotate(WriteElements(type_, dialect_, elements.span(), rows.begin_row, pages, chunk),
                  file_->path());
}

absl::StatusOr<uint32_t> StoredColumnWriter::NumberOf(int64_t position, uint64_t row,
                                                      Dictionary& names) const {
  const std::optional<SymbolId> id = file_->domain()->IdAt(position);
  if (!id.has_value()) return file_->OutsideOfDomain(row, position);
  const std::string_view name = symbols_->NameOf(*id);
  if (name.empty()) return Dictionary::kNullNumber;
  if (name.size() > kTextBytesMax) {
    return InvalidArgument("{}: row {}: a symbol of {} bytes, at most {} in a Parquet file",
                           file_->path(), row, name.size(), kTextBytesMax);
  }
  return names.NumberOf(name);
}

absl::Status StoredColumnWriter::WriteEnum(disk::RowRange rows, PageWriter& pages,
                                           Chunk& chunk) const {
  const size_t width = file_->enum_width();
  ByteBuffer positions;
  positions.resize(rows.rows() * width);
  TS_RETURN_IF_ERROR(file_->ReadElements(rows, positions.span()));
  Dictionary names;
  absl::flat_hash_map<int64_t, uint32_t> number_of;
  std::vector<uint32_t> numbers(rows.rows());
  // Rows of a symbol are often adjacent, so the last position is remembered.
  std::optional<int64_t> last_position;
  uint32_t last_number = Dictionary::kNullNumber;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int64_t position = PositionOf(positions.span(), width, i);
    if (position != last_position) {
      const auto [found, is_new] = number_of.try_emplace(position, Dictionary::kNullNumber);
      if (is_new) {
        TS_ASSIGN_OR_RETURN(found->second, NumberOf(position, rows.begin_row + i, names));
      }
      last_position = position;
      last_number = found->second;
    }
    numbers[i] = last_number;
  }
  names.WriteRows(numbers, pages, chunk);
  return absl::OkStatus();
}

absl::Status StoredColumnWriter::WriteItems(disk::RowRange rows, PageWriter& pages,
                                            Chunk& chunk) const {
  TS_ASSIGN_OR_RETURN(const std::vector<disk::PinnedBytes> held, file_->Pin());
  TextPages texts(pages, chunk);
  for (uint64_t row = rows.begin_row; row < rows.end_row; ++row) {
    TS_ASSIGN_OR_RETURN(const Value item, file_->ItemAt(row));
    TS_RETURN_IF_ERROR(Annotate(AddItem(item, row, texts), file_->path()));
  }
  texts.Finish();
  return absl::OkStatus();
}

}  // namespace tickstack::interchange::parquet
