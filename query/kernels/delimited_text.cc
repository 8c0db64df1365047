#include "query/kernels/delimited_text.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/table_view.h"
#include "query/kernels/text_values.h"
#include "query/kernels/texts.h"
#include "table/element_text.h"

namespace tickstack::query {
namespace {

// Appends a field, in quotes if it would be read as something else.
void AppendField(char delimiter, std::string_view field, std::string& line) {
  const bool quoted =
      field.find(delimiter) != std::string_view::npos || field.find('\n') != std::string_view::npos;
  if (!quoted) {
    line.append(field);
    return;
  }
  line.push_back('"');
  for (const char c : field) {
    if (c == '"') line.push_back('"');
    line.push_back(c);
  }
  line.push_back('"');
}

absl::Status AppendItem(char delimiter, const Value& column, size_t row, std::string& line) {
  if (column.is(Type::kSymbol)) {
    AppendField(delimiter, column.symbols()[row], line);
  } else if (column.is_vector()) {
    AppendField(delimiter, TextOfElement(column.type(), ElementAt(column, row), TimeStyle::kIso),
                line);
  } else {
    const Value& item = column.items()[row];
    if (!item.is_string()) return TypeError("0: of a list with a {}", NameOf(item.type()));
    AppendField(delimiter, item.text(), line);
  }
  return absl::OkStatus();
}

// Reads the field that begins at `at`, and moves `at` behind the delimiter after it.
std::string TakeField(std::string_view line, char delimiter, size_t& at) {
  std::string field;
  if (at < line.size() && line[at] == '"') {
    for (++at; at < line.size(); ++at) {
      if (line[at] != '"') {
        field.push_back(line[at]);
      } else if (at + 1 < line.size() && line[at + 1] == '"') {
        field.push_back(line[at++]);
      } else {
        ++at;
        break;
      }
    }
  }
  const size_t end = std::min(line.find(delimiter, at), line.size());
  field.append(line.substr(at, end - at));
  at = end + 1;
  return field;
}

// Splits a text into parts that end with `separator`; within quotes it is a part of the text, if
// `quotes`.
std::vector<std::string_view> PartsOfText(std::string_view text, char separator, bool quotes) {
  std::vector<std::string_view> parts;
  bool quoted = false;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (quotes && text[at] == '"') quoted = !quoted;
    if (text[at] != separator || quoted) continue;
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  if (begin < text.size()) parts.push_back(text.substr(begin));
  return parts;
}

// Returns the lines of a text, or of a list of strings.
absl::StatusOr<std::vector<std::string_view>> LinesIn(const Value& text, bool quotes,
                                                      Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(2 * ApproximateBytes(text)));
  if (text.type() == Type::kChar) {
    std::vector<std::string_view> lines = PartsOfText(text.text(), '\n', quotes);
    for (std::string_view& line : lines) {
      if (line.ends_with('\r')) line.remove_suffix(1);
    }
    return lines;
  }
  if (!text.is_list()) return TypeError("0: of a {}, not of text", NameOf(text.type()));
  std::vector<std::string_view> lines;
  for (const Value& line : text.items()) {
    if (line.type() != Type::kChar) return TypeError("a {} among lines", NameOf(line.type()));
    lines.push_back(line.text());
  }
  return lines;
}

// A column that is read, field by field.
class FieldColumn {
 public:
  static absl::StatusOr<FieldColumn> Of(char letter) {
    if (letter == ' ' || letter == '*') return FieldColumn(letter, std::nullopt);
    const bool capital = letter >= 'A' && letter <= 'Z';
    const std::optional<Type> type =
        capital ? TypeOfLetter(static_cast<char>(letter - 'A' + 'a')) : std::nullopt;
    if (!type.has_value()) return TypeError("0: with a type \"{}\"", letter);
    return FieldColumn(letter, type);
  }

  bool skipped() const { return letter_ == ' '; }
  absl::Status Add(std::string_view field) {
    if (skipped()) return absl::OkStatus();
    if (!type_.has_value()) {
      items_.push_back(Value::String(field));
    } else if (*type_ == Type::kChar) {
      items_.push_back(Value::Char(field.empty() ? ' ' : field[0]));
    } else if (field.empty()) {
      items_.push_back(NullOf(*type_));
    } else {
      TS_ASSIGN_OR_RETURN(items_.emplace_back(), ReadText(*type_, field));
    }
    return absl::OkStatus();
  }
  Value Finish() && {
    if (!type_.has_value()) return Value::List(std::move(items_));
    return items_.empty() ? EmptyVector(*type_) : Collapse(std::move(items_));
  }
  Value TakeOnly() && { return std::move(items_.front()); }

 private:
  FieldColumn(char letter, std::optional<Type> type) : letter_(letter), type_(type) {}
  char letter_;
  std::optional<Type> type_;
  std::vector<Value> items_;
};

absl::StatusOr<std::vector<FieldColumn>> ColumnsOfLetters(std::string_view letters) {
  std::vector<FieldColumn> columns;
  for (const char letter : letters) {
    TS_ASSIGN_OR_RETURN(FieldColumn column, FieldColumn::Of(letter));
    columns.push_back(std::move(column));
  }
  return columns;
}

// Returns the columns as a list; if `one`, the items of their only row.
Value ListOfColumns(std::vector<FieldColumn> columns, bool one) {
  std::vector<Value> items;
  for (FieldColumn& column : columns) {
    if (!column.skipped()) {
      items.push_back(one ? std::move(column).TakeOnly() : std::move(column).Finish());
    }
  }
  return one ? Collapse(std::move(items)) : Value::List(std::move(items));
}

}  // namespace

absl::StatusOr<Value> LinesOf(char delimiter, const Value& columns, Budget& budget) {
  if (columns.is_table()) TS_RETURN_IF_ERROR(CheckTable(columns));
  if (!columns.is_table() && !columns.is_list()) {
    return TypeError("0: of a {}", NameOf(columns.type()));
  }
  const std::vector<Value>& all = columns.is_table() ? columns.columns() : columns.items();
  for (const Value& column : all) {
    if (!IsSequence(column)) return TypeError("0: of a column that is a {}", NameOf(column.type()));
    if (column.count() != all.front().count()) {
      return LengthError("columns of {} and {} rows", all.front().count(), column.count());
    }
  }
  const size_t rows = all.empty() ? 0 : all.front().count();
  TS_RETURN_IF_ERROR(budget.ChargeItems(rows + 1));
  std::vector<Value> lines;
  std::string line;
  if (columns.is_table()) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0) line.push_back(delimiter);
      AppendField(delimiter, columns.column_names()[i], line);
    }
    lines.push_back(Value::String(line));
  }
  for (size_t row = 0; row < rows; ++row) {
    if (row % 1024 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    line.clear();
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0) line.push_back(delimiter);
      TS_RETURN_IF_ERROR(AppendItem(delimiter, all[i], row, line));
    }
    TS_RETURN_IF_ERROR(budget.Charge(line.size()));
    lines.push_back(Value::String(line));
  }
  return Value::List(std::move(lines));
}

absl::StatusOr<Value> ReadDelimited(const DelimitedFormat& format, const Value& text,
                                    Budget& budget) {
  TS_ASSIGN_OR_RETURN(std::vector<FieldColumn> columns, ColumnsOfLetters(format.types));
  TS_ASSIGN_OR_RETURN(const std::vector<std::string_view> lines,
                      LinesIn(text, format.line_ends, budget));
  SymbolVector names;
  for (size_t row = 0; row < lines.size(); ++row) {
    if (row % 1024 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    TS_RETURN_IF_ERROR(budget.ChargeItems(columns.size()));
    size_t at = 0;
    for (FieldColumn& column : columns) {
      const bool there = at <= lines[row].size();
      if (!there && format.header && row == 0) {
        return LengthError("0: of {} types for a line of fewer names", columns.size());
      }
      const std::string field = there ? TakeField(lines[row], format.delimiter, at) : "";
      if (format.header && row == 0) {
        if (!column.skipped()) names.push_back(field);
      } else {
        TS_RETURN_IF_ERROR(column.Add(field));
      }
    }
  }
  if (!format.header) {
    const bool one = text.type() == Type::kChar && lines.size() == 1;
    return ListOfColumns(std::move(columns), one);
  }
  if (lines.empty()) return LengthError("0: of a table without a line of names");
  std::vector<Value> all;
  UniqueNames unique;
  for (FieldColumn& column : columns) {
    if (column.skipped()) continue;
    if (const std::string name(names[all.size()]); unique.Next(name) != name) {
      return QError(absl::StatusCode::kInvalidArgument, fmt::format("dup {}", name),
                    "two columns of one name");
    }
    all.push_back(std::move(column).Finish());
  }
  if (all.empty()) return LengthError("0: of a table without columns");
  return Value::Table(std::move(names), std::move(all));
}

absl::StatusOr<Value> ReadFixedWidths(std::string_view types, std::span<const int64_t> widths,
                                      const Value& text, Budget& budget) {
  if (types.size() != widths.size()) {
    return LengthError("{} types for {} widths", types.size(), widths.size());
  }
  size_t whole = 0;
  for (const int64_t width : widths) {
    if (width < 0 || width > (int64_t{1} << 20)) return DomainError("a field {} wide", width);
    whole += static_cast<size_t>(width);
  }
  TS_ASSIGN_OR_RETURN(std::vector<FieldColumn> columns, ColumnsOfLetters(types));
  TS_ASSIGN_OR_RETURN(std::vector<std::string_view> lines, LinesIn(text, false, budget));
  if (text.type() == Type::kChar && lines.size() == 1 && whole > 0) {  // Records without an end.
    std::string_view rest = lines[0];
    lines.clear();
    for (; !rest.empty(); rest.remove_prefix(std::min(whole, rest.size()))) {
      lines.push_back(rest.substr(0, whole));
    }
  }
  for (size_t row = 0; row < lines.size(); ++row) {
    if (row % 1024 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    TS_RETURN_IF_ERROR(budget.ChargeItems(columns.size()));
    size_t at = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string_view line = lines[row];
      const auto width = static_cast<size_t>(widths[i]);
      TS_RETURN_IF_ERROR(columns[i].Add(line.substr(std::min(at, line.size()), width)));
      at += width;
    }
  }
  return ListOfColumns(std::move(columns), false);
}

absl::StatusOr<Value> ReadKeyValues(std::string_view format, std::string_view text,
                                    Budget& budget) {
  const bool quotes = format.size() == 4 && format[2] == '*';
  if (format.size() != 3 && !quotes) return LengthError("0: with the format \"{}\"", format);
  if (std::string_view("SIJ").find(format[0]) == std::string_view::npos) {
    return TypeError("0: with keys of type \"{}\"", format[0]);
  }
  TS_RETURN_IF_ERROR(budget.Charge(4 * text.size()));
  TS_ASSIGN_OR_RETURN(FieldColumn keys, FieldColumn::Of(format[0]));
  std::vector<Value> values;
  for (const std::string_view entry : PartsOfText(text, format.back(), quotes)) {
    TS_RETURN_IF_ERROR(budget.ChargeItems(2));
    const size_t separator = std::min(entry.find(format[1]), entry.size());
    TS_RETURN_IF_ERROR(keys.Add(entry.substr(0, separator)));
    std::string value(entry.substr(std::min(separator + 1, entry.size())));
    size_t at = 0;
    if (quotes && value.starts_with('"')) value = TakeField(value, '\0', at);
    values.push_back(Value::String(value));
  }
  return Value::List({std::move(keys).Finish(), Value::List(std::move(values))});
}

}  // namespace tickstack::query
