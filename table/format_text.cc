#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "table/element_text.h"
#include "table/format_value.h"
#include "table/function_text.h"

namespace tickstack {
namespace {

// Returns a text in q's quotes, with `\n` and the like. Bytes from 0x80 on stay, because they may
// be UTF-8.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c == '\r') {
      quoted += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\{:03o}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted += '"';
}

// Returns the text of a table's cell, without bytes that would move a terminal's cursor.
std::string Printable(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte < 0x20 || byte == 0x7f ? '.' : c;
  }
  return shown;
}

// Returns q's text for a null or an infinity, without its type's letter: `0N`, `-0w`.
std::string SpecialText(Type type, Finite finite) {
  if (type == Type::kGuid) return "00000000-0000-0000-0000-000000000000";
  const bool floating = type == Type::kFloat || type == Type::kReal;
  std::string text = finite == Finite::kMinus ? "-0" : "0";
  if (finite == Finite::kNull) return text += floating ? 'n' : 'N';
  return text += floating ? 'w' : 'W';
}

// Returns whether numbers of a type carry its letter; the form of others tells their type.
bool HasSuffix(Type type) {
  return type == Type::kBoolean || type == Type::kShort || type == Type::kInt ||
         type == Type::kReal || type == Type::kMonth;
}

// Returns whether nulls and infinities of a type need no letter.
bool IsSpecialPlain(Type type) {
  return type == Type::kLong || type == Type::kFloat || type == Type::kGuid;
}

// Returns whether this text of a float would read as a long; such a vector or atom ends with `f`.
bool ReadsAsLong(std::string_view text) {
  return text.find_first_of(".enw") == std::string_view::npos;
}

std::string InlineSymbols(const SymbolVector& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += "`" + Printable(names[i]);
  return text;
}

// Returns the elements of a fixed-width atom or vector, with the type's letter where the elements
// do not tell the type: `1 2 3i`, `0N 0Np`, `1 2f`, `101b`.
std::string InlineElements(const Value& value) {
  const Type type = value.type();
  const bool joined = type == Type::kBoolean || type == Type::kByte;
  std::string text = type == Type::kByte ? "0x" : "";
  bool all_special = true, all_read_as_long = true;
  for (size_t i = 0; i < value.count(); ++i) {
    const std::span<const std::byte> element = ElementAt(value, i);
    const Finite finite = FiniteOf(type, element);
    const std::string item = finite == Finite::kFinite ? ElementText(type, element, TimeStyle::kQ)
                                                       : SpecialText(type, finite);
    all_special = all_special && finite != Finite::kFinite;
    all_read_as_long = all_read_as_long && ReadsAsLong(item);
    if (i > 0 && !joined) text += ' ';
    text += item;
  }
  if (HasSuffix(type) || (all_special && !IsSpecialPlain(type))) text += LetterOf(type);
  if (type == Type::kFloat && all_read_as_long) text += 'f';
  return text;
}

std::string InlineAtom(const Value& atom) {
  if (atom.is_atom_of(Type::kSymbol)) return "`" + Printable(atom.symbol());
  if (atom.is_atom_of(Type::kChar)) return Quoted(atom.text());
  return InlineElements(atom);
}

std::string InlineVector(const Value& vector) {
  const std::string one = vector.count() == 1 ? "," : "";
  if (vector.is_string()) return one + Quoted(vector.text());
  if (vector.count() == 0) return fmt::format("`{}$()", NameOf(vector.type()));
  if (vector.is(Type::kSymbol)) return one + InlineSymbols(vector.symbols());
  return one + InlineElements(vector);
}

// Returns q's mark of an attribute, such as `s#, which comes before the value.
std::string_view AttributeMark(Attribute attribute) {
  constexpr std::array<std::string_view, 5> kMarks = {"", "`s#", "`u#", "`p#", "`g#"};
  const auto at = static_cast<size_t>(attribute);
  return at < kMarks.size() ? kMarks[at] : "";
}

// Returns the text of the keys before a `!`, in parentheses where they would end too early.
std::string InlineKeys(const Value& keys) {
  const bool one = keys.count() == 1 && (keys.is_vector() || keys.is_list());
  return one || keys.is_table() || keys.is_dict() ? fmt::format("({})", InlineText(keys))
                                                  : InlineText(keys);
}

}  // namespace

std::string InlineText(const Value& value) {
  if (value.is_atom()) return InlineAtom(value);
  if (value.is_vector()) return std::string(AttributeMark(value.attribute())) + InlineVector(value);
  if (value.is_error()) return fmt::format("'{}", Printable(value.text()));
  if (value.is_function()) return FunctionText(value);
  if (value.is_table())
    return fmt::format("+{}!{}", InlineKeys(value.keys()), InlineText(value.values()));
  if (value.is_dict())
    return fmt::format("{}!{}", InlineKeys(value.keys()), InlineText(value.values()));
  if (value.count() == 0) return "()";
  if (value.count() == 1) return "," + InlineText(value.items().front());
  std::string text = "(";
  for (const Value& item : value.items()) {
    if (text.size() > 1) text += ';';
    text += InlineText(item);
  }
  return text += ')';
}

std::string CellText(const Value& column, size_t i) {
  if (!HasItem(column, i)) return "";
  if (column.is_list()) return InlineText(column.items()[i]);
  if (column.is(Type::kSymbol)) return Printable(column.symbols()[i]);
  const std::span<const std::byte> element = ElementAt(column, i);
  const Finite finite = FiniteOf(column.type(), element);
  if (finite == Finite::kNull) return "";
  if (finite != Finite::kFinite) return SpecialText(column.type(), finite);
  return Printable(ElementText(column.type(), element, TimeStyle::kQ));
}

namespace {

// Returns how many characters a terminal shows: bytes that do not continue a UTF-8 sequence.
size_t WidthOfText(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

void CutLine(std::string& line, size_t columns) {
  if (WidthOfText(line) <= columns) return;
  size_t shown = 0, end = 0;
  for (; end < line.size(); ++end) {
    if ((static_cast<unsigned char>(line[end]) & 0xc0) != 0x80 && shown++ + 2 >= columns) break;
  }
  line.resize(end);
  line += "..";
}

void AppendLine(std::string& text, std::string line, const TextLimits& limits) {
  line.erase(line.find_last_not_of(' ') + 1);
  CutLine(line, limits.columns);
  text += line;
  text += '\n';
}

std::string Padded(std::string cell, size_t width) {
  cell.append(width - std::min(width, WidthOfText(cell)), ' ');
  return cell;
}

// Returns lists of equal count as aligned lines, as q shows a matrix: the cells of a column are
// padded to one width. nullopt: the counts differ, all items are texts, or there are flags or
// bytes, which are shown whole.
std::optional<std::vector<std::string>> AlignedLines(const Value& list, size_t shown) {
  if (!list.is_list() || shown < 2) return std::nullopt;
  const size_t width = list.items()[0].count();
  bool only_texts = true;
  for (const Value& item : list.items()) {
    const bool row =
        item.is_list() || (item.is_vector() && !item.is(Type::kBoolean) && !item.is(Type::kByte));
    if (!row || item.count() != width || width < 2) return std::nullopt;
    only_texts = only_texts && item.is_string();
  }
  if (only_texts) return std::nullopt;
  std::vector<std::string> lines(shown);
  for (size_t c = 0; c < width; ++c) {
    std::vector<std::string> cells;
    size_t widest = 0;
    for (size_t r = 0; r < shown; ++r) {
      cells.push_back(CellText(list.items()[r], c));
      widest = std::max(widest, WidthOfText(cells.back()));
    }
    for (size_t r = 0; r < shown; ++r) {
      lines[r] += Padded(std::move(cells[r]), c + 1 == width ? 0 : widest + 1);
    }
  }
  return lines;
}

// Returns the cells of a column, or of a side of a dictionary.
std::vector<std::string> CellTexts(const Value& column, size_t shown) {
  if (std::optional<std::vector<std::string>> lines = AlignedLines(column, shown)) {
    return *std::move(lines);
  }
  std::vector<std::string> cells;
  cells.reserve(shown);
  for (size_t i = 0; i < shown; ++i) cells.push_back(CellText(column, i));
  return cells;
}

struct TextColumn {
  std::string name;
  std::vector<std::string> cells;
  size_t width = 0;
};

std::vector<TextColumn> TextColumnsOf(const Value& table, size_t rows) {
  std::vector<TextColumn> columns;
  for (size_t c = 0; c < table.columns().size(); ++c) {
    TextColumn column{Printable(table.column_names()[c]), {}, 0};
    column.width = WidthOfText(column.name);
    column.cells = CellTexts(table.columns()[c], rows);
    for (const std::string& cell : column.cells) {
      column.width = std::max(column.width, WidthOfText(cell));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

// Returns a table as text; `key_table` is nullptr for a table without a key. A `|` separates the
// key from the rest.
std::string TableText(const Value* key_table, const Value& table, const TextLimits& limits) {
  const size_t rows = table.count();
  // Leaves room for the header and its rule.
  const size_t most = limits.lines > 3 ? limits.lines - 2 : 1;
  const size_t shown = rows > most ? most - 1 : rows;
  std::vector<TextColumn> columns;
  size_t bar = 0;
  if (key_table != nullptr) {
    columns = TextColumnsOf(*key_table, shown);
    bar = columns.size();
  }
  for (TextColumn& column : TextColumnsOf(table, shown)) columns.push_back(std::move(column));

  std::string header, rule;
  for (size_t c = 0; c < columns.size(); ++c) {
    const bool before_bar = c + 1 == bar;
    header += Padded(columns[c].name, columns[c].width) + (before_bar ? "| " : " ");
    rule += std::string(columns[c].width, '-') + (c + 1 == columns.size() ? ""
                                                  : before_bar            ? "| "
                                                                          : "-");
  }
  std::string text;
  AppendLine(text, std::move(header), limits);
  AppendLine(text, std::move(rule), limits);
  for (size_t r = 0; r < shown; ++r) {
    std::string line;
    for (size_t c = 0; c < columns.size(); ++c) {
      line +=
          Padded(std::move(columns[c].cells[r]), columns[c].width) + (c + 1 == bar ? "| " : " ");
    }
    AppendLine(text, std::move(line), limits);
  }
  if (shown < rows) text += "..\n";
  return text;
}

std::string LinesText(const std::vector<std::string>& lines, size_t total,
                      const TextLimits& limits) {
  std::string text;
  for (const std::string& line : lines) AppendLine(text, line, limits);
  if (lines.size() < total) text += "..\n";
  return text;
}

size_t ShownOf(size_t count, const TextLimits& limits) {
  const size_t most = std::max<size_t>(limits.lines, 2);
  return count > most ? most - 1 : count;
}

std::string DictText(const Value& dict, const TextLimits& limits) {
  if (dict.keys().is_table() || dict.values().is_table()) {
    return LinesText({InlineText(dict)}, 1, limits);
  }
  const size_t shown = ShownOf(dict.count(), limits);
  std::vector<std::string> lines = CellTexts(dict.keys(), shown);
  const std::vector<std::string> values = CellTexts(dict.values(), shown);
  size_t width = 0;
  for (const std::string& key : lines) width = std::max(width, WidthOfText(key));
  for (size_t i = 0; i < shown; ++i) {
    lines[i] = Padded(std::move(lines[i]), width) + "| " + values[i];
  }
  return LinesText(lines, dict.count(), limits);
}

std::string ListText(const Value& list, const TextLimits& limits) {
  if (list.count() == 0) return "()\n";
  const size_t shown = ShownOf(list.count(), limits);
  if (const std::optional<std::vector<std::string>> lines = AlignedLines(list, shown)) {
    return LinesText(*lines, list.count(), limits);
  }
  std::vector<std::string> lines;
  lines.reserve(shown);
  for (size_t i = 0; i < shown; ++i) lines.push_back(InlineText(list.items()[i]));
  return LinesText(lines, list.count(), limits);
}

}  // namespace

std::string FormatText(const Value& value, const TextLimits& limits) {
  if (value.is_null()) return "";
  if (value.is_table()) return TableText(nullptr, value, limits);
  if (value.is_keyed_table()) return TableText(&value.keys(), value.values(), limits);
  if (value.is_dict()) return DictText(value, limits);
  if (value.is_list()) return ListText(value, limits);
  return LinesText({InlineText(value)}, 1, limits);
}

}  // namespace tickstack
