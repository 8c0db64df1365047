// Reads every file in the fixtures' list, which has its kind, its count and its first values as
// another decoder read them. An entry that this test does not know fails it: nothing is skipped.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "disk/column_file.h"
#include "disk/database.h"
#include "disk/kdb_format.h"
#include "disk/stored_value.h"
#include "tests/support/fixtures.h"

namespace tickstack::disk {
namespace {

namespace fs = std::filesystem;

struct Listed {
  fs::path path;
  uint64_t bytes = 0;
  std::string kind;  // Content of the file, compressed or not.
  bool compressed = false;
  std::string contents;
};

// The rows of the list: `| file | bytes | kind | contents |` below `## origin`, and lines that name
// the empty lists.
std::vector<Listed> ReadList(const fs::path& root) {
  std::vector<Listed> all;
  std::ifstream list(root / "README.md");
  fs::path origin;
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with("## ")) origin = root / line.substr(3);
    if (line.starts_with("8-byte empty lists")) {
      for (size_t at = line.find("): ") + 1; at != std::string::npos;) {
        const size_t comma = line.find(", ", at + 2);
        all.push_back({origin / line.substr(at + 2, comma - at - 2), 8, "empty list", false, ""});
        at = comma;
      }
    }
    if (!line.starts_with("| ") || line.starts_with("| file ")) continue;
    std::vector<std::string> cells;
    for (size_t at = 2; cells.size() < 3;) {
      const size_t end = line.find(" | ", at);
      cells.push_back(line.substr(at, end - at));
      at = end + 3;
    }
    const size_t begin = 2 + cells[0].size() + cells[1].size() + cells[2].size() + 9;
    Listed listed{origin / cells[0], std::stoull(cells[1]), cells[2], false,
                  line.substr(begin, line.size() - begin - 2)};
    if (const size_t arrow = listed.kind.find(" -> "); arrow != std::string::npos) {
      listed.compressed = true;
      listed.kind.erase(0, arrow + 4);
    }
    all.push_back(std::move(listed));
  }
  return all;
}

// Returns the domains that an enum in `path` may use: those in the directories above it.
std::shared_ptr<const SymbolDomains> DomainsAbove(const fs::path& path, const fs::path& root) {
  static std::map<fs::path, std::shared_ptr<const SymbolDomains>> known;
  for (fs::path folder = path.parent_path(); folder != root; folder = folder.parent_path()) {
    if (!fs::is_regular_file(folder / "sym")) continue;
    std::shared_ptr<const SymbolDomains>& found = known[folder];
    if (found == nullptr) {
      const auto domains = std::make_shared<SymbolDomains>();
      // A column called sym is no domain.
      if (!domains->Add((folder / "sym").string()).ok()) continue;
      found = domains;
    }
    return found;
  }
  return nullptr;
}

std::string Milliseconds(int64_t ms) {
  return fmt::format("{:02}:{:02}:{:02}.{:03}", ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60,
                     ms % 1000);
}

// An atom as the list writes it.
std::string TextOf(const Value& atom) {
  switch (atom.type()) {
    case Type::kBoolean:
    case Type::kByte:
      return fmt::format("{}", atom.as<uint8_t>());
    case Type::kGuid: {
      std::string hex;
      for (const std::byte byte : atom.elements()) {
        hex += fmt::format("{:02x}", std::to_integer<int>(byte));
      }
      return hex;
    }
    case Type::kInt:
      return fmt::format("{}", atom.as<int32_t>());
    case Type::kLong:
      return fmt::format("{}", atom.as<int64_t>());
    case Type::kFloat:
      return fmt::format("{:.10g}", atom.as<double>());
    case Type::kSymbol:
      return atom.symbol().empty() ? "0N" : std::string(atom.symbol());
    case Type::kTimestamp:
      if (atom.as<int64_t>() == kNullLong) return "0N";
      return FormatTimestamp(atom.as<int64_t>());
    case Type::kDate:
      return FormatDate(atom.as<int32_t>());
    case Type::kDatetime: {
      const auto ms = static_cast<int64_t>(atom.as<double>() * 86'400'000 + 0.5);
      return FormatDate(static_cast<int32_t>(ms / 86'400'000)) + "T" +
             Milliseconds(ms % 86'400'000).substr(0, 8);
    }
    case Type::kTimespan: {
      const int64_t ns = atom.as<int64_t>();
      if (ns == kNullLong) return "0N";
      return fmt::format("{}D{:02}:{:02}:{:02}.{:09}", ns / kNsPerDay, ns / 3'600'000'000'000 % 24,
                         ns / 60'000'000'000 % 60, ns / 1'000'000'000 % 60, ns % 1'000'000'000);
    }
    case Type::kMinute:
      return Milliseconds(int64_t{atom.as<int32_t>()} * 60'000).substr(0, 5);
    case Type::kTime:
      return Milliseconds(atom.as<int32_t>());
    case Type::kList:
    case Type::kShort:
    case Type::kReal:
    case Type::kChar:
    case Type::kMonth:
    case Type::kSecond:
    case Type::kTable:
    case Type::kDict:
    case Type::kLambda:
    case Type::kUnary:
    case Type::kOperator:
    case Type::kIterator:
    case Type::kProjection:
    case Type::kComposition:
    case Type::kSortedDict:
    case Type::kError:
      break;
  }
  return fmt::format("type {}?", static_cast<int>(atom.type()));
}

// Values in anymaps, as the list writes them.
std::string Repr(const Value& value);

std::string Joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string NamesRepr(const SymbolVector& names) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < names.size(); ++i) parts.push_back(fmt::format("'{}'", names[i]));
  return "('syms', [" + Joined(parts) + "])";
}

std::string Repr(const Value& value) {
  if (value.is(Type::kSymbol)) return NamesRepr(value.symbols());
  if (value.is_atom_of(Type::kSymbol)) return fmt::format("('sym', '{}')", value.symbol());
  if (value.is_dict() || value.is_table()) {
    return fmt::format("('{}', [{}, {}])", value.is_table() ? 'T' : 'D', Repr(value.keys()),
                       Repr(value.values()));
  }
  std::vector<std::string> parts;
  if (value.is_list()) {
    for (const Value& item : value.items()) parts.push_back(Repr(item));
    return "('L', [" + Joined(parts) + "])";
  }
  if (value.is_string()) {
    return fmt::format("('v', 10, {}, b'{}')", static_cast<int>(value.attribute()), value.text());
  }
  const size_t width = WidthOf(value.type());
  for (size_t at = 0; at < value.elements().size(); at += width) {
    parts.push_back(
        TextOf(Value::AtomFromBytes(value.type(), value.elements().subspan(at, width))));
  }
  return fmt::format("('v', {}, {}, ({}{}))", value.code(), static_cast<int>(value.attribute()),
                     Joined(parts), parts.size() == 1 ? "," : "");
}

std::string AttributeText(Attribute attribute) {
  const std::string_view letters = " supg";
  if (attribute == Attribute::kNone) return "";
  return std::string(1, letters[static_cast<size_t>(attribute)]) + "#";
}

std::string TableText(const Value& table) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < table.columns().size(); ++i) {
    const Value& column = table.columns()[i];
    parts.push_back(fmt::format("{}:{}{}", table.column_names()[i],
                                AttributeText(column.attribute()), NameOf(column.type())));
  }
  return fmt::format("table {} rows, columns {}", table.count(), Joined(parts));
}

std::string ListText(const Value& list) {
  std::string text = fmt::format("{}[{}]", NameOf(list.type()), list.count());
  for (size_t i = 0; list.is_vector() && i < list.count(); ++i) {
    const size_t width = WidthOf(list.type());
    text += " " + (width == 0 ? std::string(list.symbols()[i])
                              : TextOf(Value::AtomFromBytes(
                                    list.type(), list.elements().subspan(i * width, width))));
  }
  return text;
}

std::string ValueText(const Value& value) {
  if (value.is_keyed_table()) {
    return "keyed table: key " + TableText(value.keys()) + " / value " + TableText(value.values());
  }
  if (value.is_table()) return TableText(value);
  if (value.is_dict()) return "dict " + ListText(value.keys()) + " ! " + ListText(value.values());
  return "symbol atom " + std::string(value.symbol());
}

class Fixtures : public testing::Test {
 protected:
  // `count 3: ...`, `header count 0, actual 3: first values, + 80 bytes of index`.
  void CheckColumn(const Listed& listed) {
    const auto domains = DomainsAbove(listed.path, root_);
    const auto column = ColumnFile::Open(listed.path.string(), domains);
    ASSERT_TRUE(column.ok()) << column.status();
    const ColumnFile& found = **column;
    EXPECT_EQ(found.file().is_compressed(), listed.compressed);
    std::string text =
        listed.contents.starts_with("header")
            ? fmt::format("header count {}, actual {}", found.layout().header_rows, found.rows())
            : fmt::format("count {}", found.rows());
    if (listed.contents.ends_with("(enum items)")) {
      text += " (enum items)";
      for (uint64_t row = 0; row < found.rows(); ++row) {
        EXPECT_TRUE(found.ItemAt(row).ok()) << found.ItemAt(row).status();
      }
    } else {
      text += ": " + FirstValues(found, listed);
    }
    if (listed.kind.find("p#") != std::string::npos) {
      const absl::StatusOr<const PartedIndex*> index = found.Parted();
      ASSERT_TRUE(index.ok()) << index.status();
      ASSERT_NE(*index, nullptr);
      CheckIndex(found, **index);
      const ColumnLayout& layout = found.layout();
      text += fmt::format(", + {} bytes of index",
                          found.file().bytes() - layout.data_offset - layout.data_bytes());
    }
    // The list cuts long texts off.
    EXPECT_EQ(text.substr(0, std::max<size_t>(listed.contents.size(), 120)), listed.contents);
  }

  std::string FirstValues(const ColumnFile& column, const Listed& listed) {
    const bool is_text = listed.kind.find("char") != std::string::npos;
    const bool is_items = column.kind() == ColumnKind::kItems;
    const uint64_t shown = column.kind() == ColumnKind::kSymbols ? 8
                           : is_text                             ? 12
                           : is_items                            ? 2
                           : listed.kind.starts_with("ff20")     ? 8
                                                                 : 3;
    std::vector<std::string> parts;
    std::string chars;
    for (uint64_t row = 0; row < std::min(shown, column.rows()); ++row) {
      const absl::StatusOr<Value> item = column.ItemAt(row);
      if (item.status().code() == absl::StatusCode::kDataLoss &&
          column.kind() == ColumnKind::kEnum) {
        // One of the databases has a domain older than its columns: the list has the position that
        // is outside of it.
        const std::string text(Message(item.status()));
        const size_t at = text.find("has position ") + 13;
        parts.push_back(text.substr(at, text.find(',', at) - at));
      } else if (!item.ok()) {
        ADD_FAILURE() << item.status();
      } else if (is_text) {
        chars += item->text();
      } else {
        parts.push_back(is_items ? Repr(*item) : TextOf(*item));
        const bool narrow_null = column.enum_width() == 4 && item->symbol().empty();
        if (narrow_null) parts.back() = fmt::format("{}", kNullInt);
      }
    }
    if (is_text) return '"' + chars + '"';
    if (is_items) return "[" + Joined(parts) + "]";
    return fmt::format("{}", fmt::join(parts, " "));
  }

  // Checks the rows of each key one by one.
  static void CheckIndex(const ColumnFile& column, const PartedIndex& index) {
    const PinnedBytes held = *column.Elements();
    const std::span<const std::byte> positions = held.span();
    for (size_t i = 0; i < index.keys(); ++i) {
      const absl::StatusOr<std::optional<RowRange>> rows = column.RowsOf(index.key(i));
      ASSERT_TRUE(rows.ok()) << rows.status();
      ASSERT_EQ(*rows, index.rows(i));
      for (uint64_t row = (*rows)->begin_row; row < (*rows)->end_row; ++row) {
        const int64_t position = column.enum_width() == 8
                                     ? LoadLittle<int64_t>(positions.data() + 8 * row)
                                     : LoadLittle<int32_t>(positions.data() + 4 * row);
        ASSERT_EQ(position, index.key(i)) << row;
      }
    }
  }

  // `12 rows, end offsets 34 68 99 .. last 451`.
  void CheckOldNested(const Listed& listed) {
    const auto column = ColumnFile::Open(listed.path.string());
    ASSERT_TRUE(column.ok()) << column.status();
    uint64_t end = 0;
    std::string text = fmt::format("{} rows, end offsets", (*column)->rows());
    for (uint64_t row = 0; row < (*column)->rows(); ++row) {
      const absl::StatusOr<Value> item = (*column)->ItemAt(row);
      ASSERT_TRUE(item.ok()) << item.status();
      EXPECT_EQ(item->type(),
                listed.kind.find("char") != std::string::npos ? Type::kChar : Type::kFloat);
      end += item->count();
      if (row < 3) text += fmt::format(" {}", end);
    }
    EXPECT_EQ(text + fmt::format(" .. last {}", end), listed.contents);
  }

  void CheckValue(const Listed& listed) {
    const absl::StatusOr<Value> value =
        ReadStoredValue(listed.path.string(), DomainsAbove(listed.path, root_));
    ASSERT_TRUE(value.ok()) << value.status();
    std::string expected = listed.contents;
    // Enums are read as symbols.
    if (const size_t at = expected.find("enum(type 21,dom sym)"); at != std::string::npos) {
      expected.replace(at, std::string_view("enum(type 21,dom sym)").size(), "symbol");
    }
    EXPECT_EQ(ValueText(*value), expected);
  }

  // `header count 0, 8 item(s) to EOF; first: list[3]: ...`.
  void CheckList(const Listed& listed) {
    const auto column = ColumnFile::Open(listed.path.string());
    ASSERT_TRUE(column.ok()) << column.status();
    EXPECT_EQ((*column)->kind(), ColumnKind::kItems);
    const std::string text = fmt::format("header count {}, {} item(s) to EOF;",
                                         (*column)->layout().header_rows, (*column)->rows());
    EXPECT_EQ(listed.contents.substr(0, text.size()), text);
    for (uint64_t row = 0; row < (*column)->rows(); ++row) {
      const absl::StatusOr<Value> item = (*column)->ItemAt(row);
      ASSERT_TRUE(item.ok()) << item.status();
    }
  }

  void Check(const Listed& listed) {
    const std::string_view kind = listed.kind;
    ASSERT_EQ(fs::file_size(listed.path), listed.bytes);
    if (kind == "empty list") {
      const auto column = ColumnFile::Open(listed.path.string());
      ASSERT_TRUE(column.ok()) << column.status();
      EXPECT_EQ((*column)->rows(), 0u);
    } else if (kind == "ff01 value") {
      CheckValue(listed);
    } else if (kind == "ff01 general list / log") {
      CheckList(listed);
    } else if (kind.starts_with("fe20 nested")) {
      CheckOldNested(listed);
    } else if (kind == "fd20 anymap payload") {
      // Read with its column. Alone it is refused, because its data follows the page.
      EXPECT_FALSE(ColumnFile::Open(listed.path.string()).ok());
      EXPECT_EQ(fmt::format("{} payload bytes", listed.bytes - kPageBytes), listed.contents);
    } else if (kind.starts_with("raw elements")) {
      EXPECT_EQ(fmt::format("{} bytes", listed.bytes), listed.contents);
    } else if (kind == "segment list (text)") {
      Database::Options options{.allow_missing_segments = true};
      const auto database = Database::Open(listed.path.parent_path().string(), options);
      ASSERT_TRUE(database.ok()) << database.status();
      const auto lines = std::ranges::count(listed.contents, ';') + 1;
      EXPECT_EQ((*database)->problems().size(), static_cast<size_t>(lines));
    } else {
      const bool is_column = kind.starts_with("ff01 symbol vector") || kind.starts_with("fe20") ||
                             kind.starts_with("fd20") || kind.starts_with("fe+domain") ||
                             kind.starts_with("ff20");
      ASSERT_TRUE(is_column) << "a kind of file that this test does not know: " << kind;
      CheckColumn(listed);
    }
  }

  fs::path root_;
};

TEST_F(Fixtures, EveryListedFileHasItsCountAndFirstValues) {
  TS_REQUIRE_FIXTURE(root, "kdb");
  root_ = root;
  const std::vector<Listed> list = ReadList(root);
  size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    files += entry.is_regular_file() && entry.path().filename() != "README.md" ? 1 : 0;
  }
  EXPECT_EQ(list.size(), files);  // Every file is in the list.
  for (const Listed& listed : list) {
    SCOPED_TRACE(fs::relative(listed.path, root).string() + ": " + listed.kind);
    Check(listed);
  }
}

// Goal: every database among the fixtures opens. Method: open every directory with partitions or
// tables, and read the last row of every column of every table. What cannot be read is damaged in
// the fixtures themselves, and listed here.
TEST_F(Fixtures, EveryDatabaseOpensAndItsColumnsCanBeRead) {
  TS_REQUIRE_FIXTURE(root, "kdb");
  const std::vector<std::string> damaged = {
      "AXSTATE/content: open: No such file",  // Left out of the fixtures.
      "db/t2/price: 24 rows, the columns before it have 25",
      "flights/sym: byte 17832: row 1717 has position 210, domain sym has 129 names",
      "flights/arivAirport: byte 17832: row 1717 has position 235, domain sym has 129 names",
  };
  size_t databases = 0, columns = 0;
  std::vector<std::string> errors;
  const auto read_last_row = [&](const SplayedTable& table, size_t i) -> absl::Status {
    TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ColumnFile> column, table.Column(i));
    ++columns;
    return column->rows() == 0 ? absl::OkStatus() : column->ItemAt(column->rows() - 1).status();
  };
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    // A partition on its own has no domain.
    if (!entry.is_directory() || ParsePartitionName(entry.path().filename().string())) continue;
    const auto database = Database::Open(entry.path().string(), {.allow_missing_segments = true});
    ASSERT_TRUE(database.ok()) << database.status();
    std::vector<const SplayedTable*> tables;
    for (const auto& table : (*database)->partitioned_tables()) {
      for (size_t p = 0; p < (*database)->partitions().size(); ++p) {
        const absl::StatusOr<const SplayedTable*> part = table->In(p);
        ASSERT_TRUE(part.ok()) << part.status();
        if (*part != nullptr) tables.push_back(*part);
      }
    }
    for (const Database::RootTable& table : (*database)->splayed_tables()) {
      tables.push_back(table.table.get());
    }
    databases += tables.empty() ? 0 : 1;
    for (const SplayedTable* table : tables) {
      for (size_t i = 0; i < table->columns(); ++i) {
        const absl::Status status = read_last_row(*table, i);
        if (!status.ok()) errors.emplace_back(Message(status));
      }
    }
  }
  for (const std::string& error : errors) {
    EXPECT_TRUE(std::ranges::any_of(damaged, [&error](const std::string& known) {
      return error.find(known) != std::string::npos;
    })) << error;
  }
  EXPECT_EQ(errors.size(), damaged.size());
  EXPECT_GE(databases, 15u);
  EXPECT_GE(columns, 200u);
}

}  // namespace
}  // namespace tickstack::disk
