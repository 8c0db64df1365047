#include "disk/column_file.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/kdb_format.h"
#include "disk/plain_symbols.h"
#include "disk/stored_value.h"

namespace tickstack::disk {
namespace {

int64_t PositionAt(std::span<const std::byte> positions, size_t width, uint64_t row) {
  if (width == sizeof(int64_t)) return LoadLittle<int64_t>(positions.data() + row * width);
  const auto position = LoadLittle<int32_t>(positions.data() + row * width);
  return position == kNullInt ? kNullPosition : position;
}

// Copies positions that are ids. Returns false if one is null or not below `names`; then `out` is
// invalid. Without a jump, so that it can be vectorized.
template <typename Position>
bool CopyBelow(const std::byte* positions, uint64_t names, std::span<SymbolId> out) {
  using Unsigned = std::make_unsigned_t<Position>;
  Unsigned largest = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto position =
        static_cast<Unsigned>(LoadLittle<Position>(positions + i * sizeof(Position)));
    largest = std::max(largest, position);
    out[i] = static_cast<SymbolId>(position);
  }
  return out.empty() || largest < names;
}

bool PositionsAsIds(std::span<const std::byte> positions, size_t width, uint64_t names,
                    std::span<SymbolId> out) {
  if (width == sizeof(int64_t)) return CopyBelow<int64_t>(positions.data(), names, out);
  return CopyBelow<int32_t>(positions.data(), names, out);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ColumnFile>> ColumnFile::Open(
    const std::string& path, std::shared_ptr<const SymbolDomains> domains,
    const ChecksumFile* checksums) {
  std::shared_ptr<ColumnFile> column(new ColumnFile());
  column->domains_ = std::move(domains);
  TS_RETURN_IF_ERROR(column->Read(path, checksums));
  return column;
}

absl::Status ColumnFile::Read(const std::string& path, const ChecksumFile* checksums) {
  TS_ASSIGN_OR_RETURN(file_, StoredFile::Open(path, checksums));
  TS_ASSIGN_OR_RETURN(const std::span<const std::byte> head, file_->Head());
  absl::StatusOr<ColumnLayout> layout = ParseColumnLayout(head, file_->bytes());
  if (!layout.ok()) return Annotate(layout.status(), path);
  layout_ = *std::move(layout);
  file_->SetRows({layout_.data_offset, layout_.width, layout_.rows});
  type_ = layout_.type;
  rows_ = layout_.rows;
  switch (layout_.form) {
    case ColumnForm::kVector:
      kind_ = ColumnKind::kFixed;
      element_bytes_ = layout_.width;
      return absl::OkStatus();
    case ColumnForm::kEnum:
      kind_ = ColumnKind::kEnum;
      element_bytes_ = layout_.width;
      if (domains_ != nullptr) domain_ = domains_->Find(layout_.domain);
      return absl::OkStatus();
    case ColumnForm::kOldNested: {
      kind_ = ColumnKind::kItems;
      type_ = Type::kList;
      TS_ASSIGN_OR_RETURN(items_, OpenOldNested(*file_, layout_, checksums));
      return absl::OkStatus();
    }
    case ColumnForm::kAnymap: {
      kind_ = ColumnKind::kItems;
      TS_ASSIGN_OR_RETURN(items_, OpenAnymap(*file_, layout_, domains_, checksums));
      return absl::OkStatus();
    }
    case ColumnForm::kSerialised:
      return ReadSerialised();
  }
  return Internal("{}: form {}", path, static_cast<int>(layout_.form));
}

absl::Status ColumnFile::ReadSerialised() {
  TS_ASSIGN_OR_RETURN(const PinnedBytes held, file_->All());
  const std::span<const std::byte> bytes = held.span();
  if (bytes.size() < kSerialisedVectorBytes) {
    return DataLoss("{}: byte {}: the file ends here, in a header of {} bytes", path(),
                    bytes.size(), kSerialisedVectorBytes);
  }
  type_ = static_cast<Type>(bytes[2]);
  layout_.attribute = static_cast<Attribute>(bytes[3]);
  layout_.header_rows = LoadLittle<int32_t>(bytes.data() + 4);
  layout_.header_rows_offset = 4;
  layout_.data_offset = kSerialisedVectorBytes;
  if (type_ == Type::kList) {
    kind_ = ColumnKind::kItems;
    TS_ASSIGN_OR_RETURN(items_, OpenSerialisedList(*file_, domains_, &rows_));
  } else if (type_ == Type::kSymbol) {
    kind_ = ColumnKind::kSymbols;
    TS_RETURN_IF_ERROR(Annotate(ReadNames(bytes), path()));
  } else if (IsFixedWidth(type_)) {
    kind_ = ColumnKind::kFixed;
    layout_.width = element_bytes_ = WidthOf(type_);
    rows_ = (bytes.size() - layout_.data_offset) / layout_.width;
  } else {
    return InvalidArgument("{}: byte 2: a value of type {}, expected a column", path(),
                           static_cast<int>(type_));
  }
  layout_.type = type_;
  layout_.rows = rows_;
  if (layout_.attribute > Attribute::kGrouped) {
    return DataLoss("{}: byte 3: attribute {}, expected 0 to 4", path(),
                    static_cast<int>(layout_.attribute));
  }
  if (layout_.header_rows < 0 || static_cast<uint64_t>(layout_.header_rows) > rows_) {
    return DataLoss("{}: byte 4: {} rows, but the file has {}", path(), layout_.header_rows, rows_);
  }
  return absl::OkStatus();
}

absl::Status ColumnFile::ReadNames(std::span<const std::byte> bytes) {
  TS_ASSIGN_OR_RETURN(const StoredNames names, ParseStoredNames(bytes));
  rows_ = names.count;
  if (domains_ != nullptr) {
    std::vector<SymbolId> ids(names.count);
    TS_RETURN_IF_ERROR(NumberPlainSymbols(*domains_, names.text, ids));
    name_starts_.reserve(names.count);
    for (const SymbolId id : ids) name_starts_.push_back(static_cast<uint32_t>(id));
    return absl::OkStatus();
  }
  name_starts_.reserve(names.count);
  for (size_t at = 0; at < names.text.size();) {
    name_starts_.push_back(kSerialisedVectorBytes + at);
    at = AsText(names.text).find('\0', at) + 1;  // Every name has its NUL.
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PinnedBytes>> ColumnFile::Pin() const {
  std::vector<PinnedBytes> held;
  TS_ASSIGN_OR_RETURN(held.emplace_back(), file_->InPlace());
  if (items_ != nullptr) TS_RETURN_IF_ERROR(items_->Pin(held));
  return held;
}

absl::StatusOr<PinnedBytes> ColumnFile::Elements() const {
  if (element_bytes_ == 0) {
    return InvalidArgument("{}: has no elements of one width", path());
  }
  TS_ASSIGN_OR_RETURN(const PinnedBytes bytes, file_->All());
  return bytes.subspan(layout_.data_offset, layout_.data_bytes());
}

absl::StatusOr<PinnedBytes> ColumnFile::ElementsInPlace() const {
  if (element_bytes_ == 0) return InvalidArgument("{}: has no elements of one width", path());
  TS_ASSIGN_OR_RETURN(const PinnedBytes bytes, file_->InPlace());
  return bytes.subspan(layout_.data_offset, layout_.data_bytes());
}

absl::Status ColumnFile::ReadElements(RowRange rows, std::span<std::byte> out) const {
  if (element_bytes_ == 0) return InvalidArgument("{}: has no elements of one width", path());
  if (rows.begin_row > rows.end_row || rows.end_row > rows_ ||
      out.size() != rows.rows() * element_bytes_) {
    return InvalidArgument("{}: rows {} to {} into {} bytes, of {} rows", path(), rows.begin_row,
                           rows.end_row, out.size(), rows_);
  }
  return file_->Read(layout_.data_offset + rows.begin_row * element_bytes_, out);
}

absl::StatusOr<RowRange> ColumnFile::VerifyRowsAround(uint64_t row) const {
  TS_RETURN_IF_ERROR(VerifyRows({row, row + 1}));
  const bool was_read = layout_.width == 0;  // When it was opened.
  if (was_read || file_->is_verified() || file_->is_compressed()) return RowRange{0, rows_};
  const uint64_t width = layout_.width, begin = layout_.data_offset + row * width;
  const uint64_t block_begin = begin / kChecksumBlockBytes * kChecksumBlockBytes;
  const uint64_t block_end = block_begin + kChecksumBlockBytes;
  if (begin + width > block_end) return RowRange{row, row + 1};  // In two blocks.
  const uint64_t before = begin - block_begin, behind = block_end - begin;
  return RowRange{row - std::min(row, before / width), std::min(rows_, row + behind / width)};
}

absl::Status ColumnFile::ReadSymbols(RowRange rows, std::span<SymbolId> out) const {
  const bool has_ids = kind_ == ColumnKind::kSymbols && domains_ != nullptr;
  if (kind_ != ColumnKind::kEnum && !has_ids) {
    return InvalidArgument("{}: expected a column of symbols of a database", path());
  }
  if (domain_ == nullptr && !has_ids) {
    return NotFound("{}: its domain {} is not in the database", path(), layout_.domain);
  }
  if (rows.begin_row > rows.end_row || rows.end_row > rows_ || out.size() != rows.rows()) {
    return InvalidArgument("{}: rows {} to {} into {}, of {}", path(), rows.begin_row, rows.end_row,
                           out.size(), rows_);
  }
  if (has_ids) {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<SymbolId>(static_cast<uint32_t>(name_starts_[rows.begin_row + i]));
    }
    return absl::OkStatus();
  }
  TS_ASSIGN_OR_RETURN(const PinnedBytes held, ElementsInPlace());
  TS_RETURN_IF_ERROR(VerifyRows(rows));
  const std::span<const std::byte> positions = held.span();
  if (domain_->positions_are_ids() &&
      PositionsAsIds(positions.subspan(rows.begin_row * layout_.width, rows.rows() * layout_.width),
                     layout_.width, domain_->ids().size(), out)) {
    return absl::OkStatus();
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t row = rows.begin_row + i;
    const int64_t position = PositionAt(positions, layout_.width, row);
    const std::optional<SymbolId> id = domain_->IdAt(position);
    if (!id) [[unlikely]]
      return OutsideOfDomain(row, position);
    out[i] = *id;
  }
  return absl::OkStatus();
}

absl::Status ColumnFile::OutsideOfDomain(uint64_t row, int64_t position) const {
  return DataLoss("{}: byte {}: row {} has position {}, domain {} has {} names", path(),
                  layout_.data_offset + row * layout_.width, row, position, layout_.domain,
                  domain_->ids().size());
}

absl::StatusOr<const PartedIndex*> ColumnFile::Parted() const {
  if (kind_ != ColumnKind::kEnum || layout_.attribute != Attribute::kParted) return nullptr;
  if (!knows_parted_.load(std::memory_order_acquire)) {
    // Reading may fail for a while, if the column is archived, so errors are not kept.
    TS_ASSIGN_OR_RETURN(const PinnedBytes bytes, file_->InPlace());
    // The index follows the rows.
    TS_RETURN_IF_ERROR(file_->Verify(layout_.data_offset + layout_.data_bytes(), file_->bytes()));
    const std::lock_guard lock(parted_mutex_);
    if (!knows_parted_.load(std::memory_order_relaxed)) {
      parted_ = PartedIndex::Parse(bytes.span(), layout_);
      if (parted_) compared_ = std::vector<std::atomic<uint64_t>>((parted_->keys() + 63) / 64);
      knows_parted_.store(true, std::memory_order_release);
    }
  }
  return parted_ ? &*parted_ : nullptr;
}

absl::StatusOr<std::optional<RowRange>> ColumnFile::RowsOf(int64_t position) const {
  TS_ASSIGN_OR_RETURN(const PartedIndex* const parted, Parted());
  if (parted == nullptr) return FailedPrecondition("{}: has no index", path());
  const std::optional<size_t> key = parted->NumberOf(position);
  if (!key) return std::nullopt;
  const RowRange rows = parted->rows(*key);
  std::atomic<uint64_t>& word = compared_[*key / 64];
  const uint64_t bit = uint64_t{1} << *key % 64;
  if ((word.load(std::memory_order_relaxed) & bit) == 0) {
    TS_RETURN_IF_ERROR(CompareWithIndex(position, rows));
    word.fetch_or(bit, std::memory_order_relaxed);
  }
  return rows;
}

// kDataLoss if the first or the last of the rows that the index gives to a position has another.
absl::Status ColumnFile::CompareWithIndex(int64_t position, RowRange rows) const {
  TS_ASSIGN_OR_RETURN(const PinnedBytes held, ElementsInPlace());
  for (const uint64_t row : {rows.begin_row, rows.end_row - 1}) {
    TS_RETURN_IF_ERROR(VerifyRows({row, row + 1}));
    const int64_t found = PositionAt(held.span(), layout_.width, row);
    if (found == position) continue;
    return DataLoss("{}: row {} has position {}, its index says {}", path(), row, found, position);
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> ColumnFile::SymbolAt(uint64_t row) const {
  if (kind_ == ColumnKind::kEnum || domains_ != nullptr) {
    SymbolId id = kNullSymbol;
    TS_RETURN_IF_ERROR(ReadSymbols({row, row + 1}, std::span(&id, 1)));
    return Value::Symbol(domains_->symbols().NameOf(id));
  }
  TS_ASSIGN_OR_RETURN(const PinnedBytes bytes, file_->All());
  // Ends at the name's own NUL, which exists.
  return Value::Symbol(reinterpret_cast<const char*>(bytes.data() + name_starts_[row]));
}

absl::StatusOr<Value> ColumnFile::AllRows() const {
  if (kind_ == ColumnKind::kFixed) {
    TS_ASSIGN_OR_RETURN(const PinnedBytes elements, Elements());
    return Value::Vector(type_, ByteBuffer(elements.span()), attribute());
  }
  TS_ASSIGN_OR_RETURN(const std::vector<PinnedBytes> held, Pin());
  SymbolVector symbols;
  std::vector<Value> items;
  uint64_t bytes_left = kStoredValueBytesMax;
  for (uint64_t row = 0; row < rows_; ++row) {
    TS_ASSIGN_OR_RETURN(Value item, ItemAt(row));
    TS_RETURN_IF_ERROR(Annotate(Spend(item, &bytes_left), path()));
    if (kind_ == ColumnKind::kItems) {
      items.push_back(std::move(item));
    } else {
      symbols.push_back(item.symbol());
    }
  }
  if (kind_ == ColumnKind::kItems) return Value::List(std::move(items), attribute());
  return Value::Symbols(std::move(symbols), attribute());
}

absl::StatusOr<Value> ColumnFile::ItemAt(uint64_t row) const {
  if (row >= rows_) return InvalidArgument("{}: row {} of {}", path(), row, rows_);
  switch (kind_) {
    case ColumnKind::kFixed: {
      TS_ASSIGN_OR_RETURN(const PinnedBytes elements, ElementsInPlace());
      TS_RETURN_IF_ERROR(VerifyRows({row, row + 1}));
      return Value::AtomFromBytes(type_,
                                  elements.span().subspan(row * element_bytes_, element_bytes_));
    }
    case ColumnKind::kItems:
      return items_->At(row);
    case ColumnKind::kEnum:
    case ColumnKind::kSymbols:
      break;
  }
  return SymbolAt(row);
}

}  // namespace tickstack::disk
