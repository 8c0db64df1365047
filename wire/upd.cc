#include "wire/upd.h"

#include <cstring>
#include <utility>

#include "base/status.h"
#include "table/name_scan.h"
#include "table/value_reader.h"
#include "table/walk.h"

namespace tickstack::wire {
namespace {

constexpr int8_t kSymbolAtom = -static_cast<int8_t>(Type::kSymbol);
constexpr int8_t kCharAtom = -static_cast<int8_t>(Type::kChar);
constexpr int8_t kErrorCode = static_cast<int8_t>(Type::kError);

// The depth of a nested column's cell in the deepest form of an upd, that with a table: message,
// table, list of columns, column, cell. The same limit applies to every form, so that a cell that
// was read from one form can be sent in any other.
constexpr int kCellDepth = 5;
constexpr int kArgumentDepth = 2;

bool IsAtom(int8_t code) { return code < 0 && code != kErrorCode; }

// The grammar's reader, with its problems as errors.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : values_(bytes) {}

  size_t offset() const { return values_.offset(); }
  bool at_end() const { return values_.at_end(); }
  int8_t PeekCode() const { return values_.PeekCode(); }
  std::span<const std::byte> From(size_t begin) const { return values_.From(begin); }

  absl::Status TakeNames(size_t names, std::span<const std::byte>* taken) {
    return Done(values_.TakeNames(names, taken));
  }

  absl::Status Expect(Type type, const char* what) {
    const ReadOutcome outcome = values_.Require(static_cast<int8_t>(type), what);
    std::span<const std::byte> byte;
    return Done(outcome == ReadOutcome::kWhole ? values_.Take(1, &byte) : outcome);
  }

  absl::Status TakeAttribute() {
    Attribute ignored;
    return Done(values_.TakeAttribute(&ignored));
  }

  // The attribute and count of a vector or list.
  absl::Status TakeCount(size_t* count) {
    Attribute ignored;
    const ReadOutcome outcome = values_.TakeAttribute(&ignored);
    return Done(outcome == ReadOutcome::kWhole ? values_.TakeCount(count) : outcome);
  }

  // The data of `count` elements of a vector.
  absl::Status TakeElements(Type type, size_t count, std::span<const std::byte>* data) {
    return Done(values_.TakeElements(type, count, data));
  }

  absl::Status SkipValue(int depth) {
    const size_t begin = offset();
    return Done(WalkValue(values_, depth), begin);
  }

  // Reads one atom; `data` is what follows its type byte.
  absl::Status TakeAtom(Type* type, std::span<const std::byte>* data) {
    return Done(values_.TakeAtom(type, data));
  }

  // Reads the text of a symbol, string or char.
  absl::Status TakeText(std::string_view what, std::string_view* text) {
    const int8_t code = PeekCode();
    std::span<const std::byte> data;
    if (code == kSymbolAtom || code == kCharAtom) {
      Type type;
      TS_RETURN_IF_ERROR(TakeAtom(&type, &data));
      *text = AsText(code == kSymbolAtom ? data.first(data.size() - 1) : data);
      return absl::OkStatus();
    }
    if (code != static_cast<int8_t>(Type::kChar)) {
      return InvalidArgument("byte {}: {} is of type {}, expected a symbol or string", offset(),
                             what, code);
    }
    size_t count = 0;
    TS_RETURN_IF_ERROR(Expect(Type::kChar, ""));
    TS_RETURN_IF_ERROR(TakeCount(&count));
    TS_RETURN_IF_ERROR(TakeElements(Type::kChar, count, &data));
    *text = AsText(data);
    return absl::OkStatus();
  }

  absl::Status ExpectEnd() const {
    if (at_end()) return absl::OkStatus();
    return InvalidArgument("byte {}: the value ends here, its message at byte {}", offset(),
                           values_.size());
  }

 private:
  absl::Status Done(ReadOutcome outcome) const { return Done(outcome, offset()); }
  // `begin` is where the value that was read begins.
  absl::Status Done(ReadOutcome outcome, size_t begin) const {
    if (outcome == ReadOutcome::kWhole) [[likely]]
      return absl::OkStatus();
    return Problem(outcome, begin);
  }
  [[gnu::cold, gnu::noinline]] absl::Status Problem(ReadOutcome outcome, size_t begin) const {
    if (outcome == ReadOutcome::kBad) return InvalidArgument("{}", values_.problem());
    return InvalidArgument("byte {}: the value goes on past the end, byte {}", begin,
                           values_.size());
  }

  ValueReader<const std::byte> values_;
};

// A column that is gathered from successive rows.
struct Lane {
  int8_t code = 0;  // Type code of the first row's item.
  // True if every item is an atom of that type, so the column is a plain vector.
  bool one_atom_type = true;
  size_t values_bytes = 0;  // Bytes of all items as encoded values.
  size_t begin = 0;         // Offset of the column in the scratch buffer.
  size_t end = 0;           // Offset of its next item.
};

// Appends the texts of names that are known to be complete.
void SplitNames(std::span<const std::byte> data, std::vector<std::string_view>* names) {
  while (!data.empty()) {
    const std::string_view name(reinterpret_cast<const char*>(data.data()));
    names->push_back(name);
    data = data.subspan(name.size() + 1);
  }
}

}  // namespace

struct UpdDecoder::State {
  std::vector<ColumnView> columns;
  std::vector<std::string_view> names;
  std::vector<Lane> lanes;
  ByteBuffer scratch;
  const Schema* schema = nullptr;  // For names in errors; nullptr: unknown.

  std::string ColumnText(size_t i) const;
  absl::Status Upd(Reader& reader, UpdView* out, size_t expected_columns);
  absl::Status X(Reader& reader, RowsView* out, size_t expected_columns);
  absl::Status List(Reader& reader, RowsView* out);
  absl::Status ResizeColumns(size_t count);
  absl::Status Columns(Reader& reader, size_t first, size_t count);
  absl::Status Row(Reader& reader, size_t count);
  absl::Status RowFromVector(Reader& reader, size_t expected_columns);
  absl::Status Rows(Reader& reader, size_t count);
  absl::Status MeasureRows(Reader& reader, size_t count);
  absl::Status GatherRows(Reader& reader, size_t count);
  absl::Status Table(Reader& reader);
  absl::Status KeyedTable(Reader& reader);
  size_t rows = 0;
};

namespace {

// True for a list of rows: a list whose first item is a list that begins with an atom.
bool BeginsWithARow(Reader reader) {
  size_t count = 0;
  if (reader.PeekCode() != 0) return false;  // Checked first, because Expect would format an error.
  if (!reader.Expect(Type::kList, "").ok() || !reader.TakeCount(&count).ok()) return false;
  return count > 0 && IsAtom(reader.PeekCode());
}

absl::Status ReadColumn(Reader& reader, ColumnView* column) {
  const int8_t code = reader.PeekCode();
  const auto type = static_cast<Type>(code);
  if (!IsVectorType(type) && type != Type::kList) {
    return InvalidArgument("byte {}: type {}, expected a vector or list", reader.offset(), code);
  }
  TS_RETURN_IF_ERROR(reader.Expect(type, "a column"));
  column->type = type;
  column->attribute = Attribute::kNone;
  TS_RETURN_IF_ERROR(reader.TakeCount(&column->rows));
  if (type != Type::kList) return reader.TakeElements(type, column->rows, &column->data);

  const size_t begin = reader.offset();
  for (size_t i = 0; i < column->rows; ++i) TS_RETURN_IF_ERROR(reader.SkipValue(kCellDepth));
  column->data = reader.From(begin);
  return absl::OkStatus();
}

// Reads one row of a column: an atom, or the cell of a nested column.
absl::Status ReadCell(Reader& reader, ColumnView* column) {
  column->attribute = Attribute::kNone;
  column->rows = 1;
  if (IsAtom(reader.PeekCode())) return reader.TakeAtom(&column->type, &column->data);
  const size_t begin = reader.offset();
  TS_RETURN_IF_ERROR(reader.SkipValue(kCellDepth));
  column->type = Type::kList;
  column->data = reader.From(begin);
  return absl::OkStatus();
}

}  // namespace

// Returns `column 2`, or `column 2 (price)` if the name is known: of a table, or of a list with as
// many columns as the schema has, or without its first one, the time.
std::string UpdDecoder::State::ColumnText(size_t i) const {
  std::string_view name;
  if (i < names.size()) {
    name = names[i];
  } else if (schema != nullptr && names.empty()) {
    const size_t all = schema->columns.size(), found = columns.size();
    if (found == all || found + 1 == all) name = schema->columns[i + (all - found)].name;
  }
  return name.empty() ? fmt::format("column {}", i) : fmt::format("column {} ({})", i, name);
}

absl::Status UpdDecoder::State::ResizeColumns(size_t count) {
  if (count > kColumnsMax) {
    return InvalidArgument("length: {} columns, at most {} are accepted", count, kColumnsMax);
  }
  columns.resize(count);
  return absl::OkStatus();
}

// Reads `count` columns and stores them after the first ones.
absl::Status UpdDecoder::State::Columns(Reader& reader, size_t first, size_t count) {
  TS_RETURN_IF_ERROR(ResizeColumns(first + count));
  if (first == 0) rows = 0;
  for (size_t i = first; i < first + count; ++i) {
    if (absl::Status status = ReadColumn(reader, &columns[i]); !status.ok()) [[unlikely]] {
      return Annotate(status, ColumnText(i));
    }
    if (i == 0) rows = columns[0].rows;
    if (columns[i].rows != rows) [[unlikely]] {
      return InvalidArgument("length: {} has {} rows, {} has {}", ColumnText(i), columns[i].rows,
                             ColumnText(0), rows);
    }
  }
  return absl::OkStatus();
}

absl::Status UpdDecoder::State::Row(Reader& reader, size_t count) {
  TS_RETURN_IF_ERROR(ResizeColumns(count));
  rows = 1;
  for (size_t i = 0; i < count; ++i) {
    if (absl::Status status = ReadCell(reader, &columns[i]); !status.ok()) [[unlikely]] {
      return Annotate(status, ColumnText(i));
    }
  }
  return absl::OkStatus();
}

absl::Status UpdDecoder::State::RowFromVector(Reader& reader, size_t expected_columns) {
  const auto type = static_cast<Type>(reader.PeekCode());
  size_t count = 0;
  TS_RETURN_IF_ERROR(reader.Expect(type, "x"));
  TS_RETURN_IF_ERROR(reader.TakeCount(&count));
  if (expected_columns != 0 && count != expected_columns) {
    return InvalidArgument("length: a row of {} items, the table has {} columns", count,
                           expected_columns);
  }
  std::span<const std::byte> data;
  TS_RETURN_IF_ERROR(ResizeColumns(count));
  TS_RETURN_IF_ERROR(reader.TakeElements(type, count, &data));
  rows = count == 0 ? 0 : 1;
  for (ColumnView& column : columns) {
    const size_t bytes = type == Type::kSymbol ? BytesOfNames(data, 1) : WidthOf(type);
    column = {type, Attribute::kNone, 1, data.first(bytes)};
    data = data.subspan(bytes);
  }
  return absl::OkStatus();
}

// Rows are transposed in two passes over the same bytes, so that nothing but the scratch buffer
// grows with their number.
absl::Status UpdDecoder::State::Rows(Reader& reader, size_t count) {
  Reader again = reader;
  TS_RETURN_IF_ERROR(MeasureRows(reader, count));
  size_t bytes = 0;
  for (Lane& lane : lanes) {
    lane.begin = lane.end = bytes;
    bytes += lane.one_atom_type ? lane.values_bytes - count : lane.values_bytes;  // No type bytes.
  }
  scratch.resize(bytes);
  TS_RETURN_IF_ERROR(GatherRows(again, count));

  TS_RETURN_IF_ERROR(ResizeColumns(lanes.size()));
  rows = count;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const Lane& lane = lanes[i];
    const Type type = lane.one_atom_type ? static_cast<Type>(-lane.code) : Type::kList;
    columns[i] = {type, Attribute::kNone, count,
                  scratch.span().subspan(lane.begin, lane.end - lane.begin)};
  }
  return absl::OkStatus();
}

absl::Status UpdDecoder::State::MeasureRows(Reader& reader, size_t count) {
  lanes.clear();
  for (size_t row = 0; row < count; ++row) {
    size_t items = 0;
    TS_RETURN_IF_ERROR(reader.Expect(Type::kList, "a row"));
    TS_RETURN_IF_ERROR(reader.TakeCount(&items));
    if (row == 0) {
      TS_RETURN_IF_ERROR(ResizeColumns(items));
      lanes.resize(items);
    }
    if (items != lanes.size()) {
      return InvalidArgument("length: row {} has {} items, row 0 has {}", row, items, lanes.size());
    }
    for (Lane& lane : lanes) {
      const int8_t code = reader.PeekCode();
      if (row == 0) lane.code = code;
      lane.one_atom_type = lane.one_atom_type && IsAtom(code) && code == lane.code;
      const size_t begin = reader.offset();
      TS_RETURN_IF_ERROR(reader.SkipValue(kCellDepth));
      lane.values_bytes += reader.offset() - begin;
    }
  }
  return absl::OkStatus();
}

absl::Status UpdDecoder::State::GatherRows(Reader& reader, size_t count) {
  for (size_t row = 0; row < count; ++row) {
    size_t items = 0;
    TS_RETURN_IF_ERROR(reader.Expect(Type::kList, "a row"));
    TS_RETURN_IF_ERROR(reader.TakeCount(&items));
    for (Lane& lane : lanes) {
      const size_t begin = reader.offset();
      TS_RETURN_IF_ERROR(reader.SkipValue(kCellDepth));
      const std::span<const std::byte> item =
          reader.From(begin).subspan(lane.one_atom_type ? 1 : 0);
      std::memcpy(scratch.data() + lane.end, item.data(), item.size());
      lane.end += item.size();
    }
  }
  return absl::OkStatus();
}

absl::Status UpdDecoder::State::Table(Reader& reader) {
  std::span<const std::byte> bytes;
  TS_RETURN_IF_ERROR(reader.Expect(Type::kTable, "x"));
  TS_RETURN_IF_ERROR(reader.TakeAttribute());
  size_t names_count = 0, columns_count = 0;
  TS_RETURN_IF_ERROR(reader.Expect(Type::kDict, "the dictionary of a table"));
  TS_RETURN_IF_ERROR(reader.Expect(Type::kSymbol, "a table's column names"));
  TS_RETURN_IF_ERROR(reader.TakeCount(&names_count));
  const size_t first = names.size();
  TS_RETURN_IF_ERROR(ResizeColumns(first + names_count));
  TS_RETURN_IF_ERROR(reader.TakeNames(names_count, &bytes));
  SplitNames(bytes, &names);
  TS_RETURN_IF_ERROR(reader.Expect(Type::kList, "a table's columns"));
  TS_RETURN_IF_ERROR(reader.TakeCount(&columns_count));
  if (columns_count != names_count) {
    return InvalidArgument("length: a table of {} names and {} columns", names_count,
                           columns_count);
  }
  return Columns(reader, first, columns_count);
}

// Reads a dictionary of two tables, as q has it: the key's columns, then the others form one table.
absl::Status UpdDecoder::State::KeyedTable(Reader& reader) {
  TS_RETURN_IF_ERROR(reader.Expect(Type::kDict, "x"));
  TS_RETURN_IF_ERROR(Annotate(Table(reader), "the keys"));
  return Annotate(Table(reader), "the values");
}

absl::Status UpdDecoder::State::List(Reader& reader, RowsView* out) {
  size_t count = 0;
  TS_RETURN_IF_ERROR(reader.Expect(Type::kList, "x"));
  TS_RETURN_IF_ERROR(reader.TakeCount(&count));
  out->form = UpdForm::kColumns;
  if (count == 0) return Columns(reader, 0, 0);
  if (IsAtom(reader.PeekCode())) {
    out->form = UpdForm::kRow;
    return Row(reader, count);
  }
  if (BeginsWithARow(reader)) {
    out->form = UpdForm::kRows;
    return Rows(reader, count);
  }
  return Columns(reader, 0, count);
}

absl::Status UpdDecoder::State::X(Reader& reader, RowsView* out, size_t expected_columns) {
  names.clear();
  const int8_t code = reader.PeekCode();
  const auto type = static_cast<Type>(code);
  if (type == Type::kList) {
    TS_RETURN_IF_ERROR(List(reader, out));
  } else if (type == Type::kTable) {
    out->form = UpdForm::kTable;
    TS_RETURN_IF_ERROR(Table(reader));
  } else if (type == Type::kDict) {
    out->form = UpdForm::kTable;
    TS_RETURN_IF_ERROR(KeyedTable(reader));
  } else if (IsVectorType(type)) {
    out->form = UpdForm::kRow;
    TS_RETURN_IF_ERROR(RowFromVector(reader, expected_columns));
  } else {
    return InvalidArgument("byte {}: x is of type {}, expected a list or table", reader.offset(),
                           code);
  }
  out->names = names;
  out->batch = {columns, rows};
  return absl::OkStatus();
}

absl::Status UpdDecoder::State::Upd(Reader& reader, UpdView* out, size_t expected_columns) {
  size_t items = 0;
  TS_RETURN_IF_ERROR(reader.Expect(Type::kList, "an upd"));
  TS_RETURN_IF_ERROR(reader.TakeCount(&items));
  if (items < 3 || items > 1 + kArgumentsMax) {
    return InvalidArgument("a list of {} items, expected 3 (verb; table; x) to {}", items,
                           1 + kArgumentsMax);
  }
  TS_RETURN_IF_ERROR(reader.TakeText("the verb", &out->verb));
  TS_RETURN_IF_ERROR(reader.TakeText("the table's name", &out->table));
  const size_t x_begin = reader.offset();
  TS_RETURN_IF_ERROR(X(reader, out, expected_columns));
  out->x = reader.From(x_begin);

  out->seq.reset();
  for (size_t i = 3; i < items; ++i) {
    const size_t begin = reader.offset();
    const int8_t code = reader.PeekCode();
    TS_RETURN_IF_ERROR(reader.SkipValue(kArgumentDepth));
    if (i == 3 && code == -static_cast<int8_t>(Type::kLong)) {
      out->seq = LoadLittle<int64_t>(reader.From(begin).data() + 1);
    }
  }
  return reader.ExpectEnd();
}

UpdDecoder::UpdDecoder() : state_(std::make_unique<State>()) {}
UpdDecoder::~UpdDecoder() = default;
UpdDecoder::UpdDecoder(UpdDecoder&&) noexcept = default;
UpdDecoder& UpdDecoder::operator=(UpdDecoder&&) noexcept = default;

void UpdDecoder::NameColumns(const Schema* schema) { state_->schema = schema; }

absl::Status UpdDecoder::Decode(std::span<const std::byte> body, UpdView* out,
                                size_t expected_columns) {
  Reader reader(body);
  return state_->Upd(reader, out, expected_columns);
}

absl::Status UpdDecoder::DecodeX(std::span<const std::byte> x, RowsView* out,
                                 size_t expected_columns) {
  Reader reader(x);
  TS_RETURN_IF_ERROR(state_->X(reader, out, expected_columns));
  return reader.ExpectEnd();
}

namespace {

// Returns the texts of the first names of a call, up to the number `wanted`.
std::optional<std::string_view> PeekName(std::span<const std::byte> body, size_t wanted) {
  Reader reader(body);
  const auto type = static_cast<Type>(reader.PeekCode());
  if (type != Type::kList && type != Type::kSymbol) return std::nullopt;
  size_t count = 0;
  if (!reader.Expect(type, "").ok() || !reader.TakeCount(&count).ok() || count <= wanted) {
    return std::nullopt;
  }
  std::string_view text;
  for (size_t i = 0; i <= wanted; ++i) {
    if (type == Type::kList) {
      if (!reader.TakeText("a name", &text).ok()) return std::nullopt;
      continue;
    }
    std::span<const std::byte> name;
    if (!reader.TakeNames(1, &name).ok()) return std::nullopt;
    text = AsText(name.first(name.size() - 1));
  }
  return text;
}

}  // namespace

std::optional<std::string_view> PeekVerb(std::span<const std::byte> body) {
  return PeekName(body, 0);
}

std::optional<std::string_view> PeekUpdTable(std::span<const std::byte> body) {
  return PeekName(body, 1);
}

}  // namespace tickstack::wire
