#include "wire/upd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "table/bytes_for_test.h"
#include "tests/support/fixtures.h"
#include "wire/codec.h"

namespace tickstack::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ByteBuffer Encoded(const Value& value) {
  ByteBuffer bytes;
  Encode(value, bytes);
  return bytes;
}

ByteBuffer Upd(const Value& x) {
  return Encoded(Value::List({Value::Symbol("upd"), Value::Symbol("quote"), x}));
}

// Formats a column as printable text: type, rows, data.
std::string Show(Type type, size_t rows, std::span<const std::byte> data) {
  return fmt::format("{} {} {}", NameOf(type), rows, ToHex(data));
}
std::vector<std::string> Show(const BatchView& batch) {
  std::vector<std::string> columns;
  for (const ColumnView& column : batch.columns) {
    columns.push_back(Show(column.type, column.rows, column.data));
  }
  return columns;
}
// Returns a vector or list as a column: its encoding without type, attribute and count.
std::string ShowColumn(const Value& column) {
  return Show(column.type(), column.count(), Encoded(column).span().subspan(6));
}
// Returns an atom or a cell as a column of one row.
std::string ShowCell(const Value& cell) {
  const ByteBuffer bytes = Encoded(cell);
  return cell.is_atom() ? Show(cell.type(), 1, bytes.span().subspan(1))
                        : Show(Type::kList, 1, bytes);
}

std::string DecodeError(std::span<const std::byte> body, size_t expected_columns = 0) {
  UpdDecoder decoder;
  UpdView upd;
  const absl::Status status = decoder.Decode(body, &upd, expected_columns);
  if (status.ok()) return "";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(Message(status));
}
std::string DecodeError(const Value& message) { return DecodeError(Encoded(message)); }

Value Floats(std::vector<double> values) {
  return Value::Vector(Type::kFloat, std::span<const double>(values));
}

TEST(UpdDecoder, ReadsColumns) {
  const ByteBuffer body =
      Upd(Value::List({Value::Longs({1, 2}), Value::Symbols({"AIG", "BAC"}), Floats({1.5, 2.5}),
                       Value::List({Value::String("x"), Value::String("yz")})}));
  UpdDecoder decoder;
  UpdView upd;
  ASSERT_TRUE(decoder.Decode(body, &upd).ok());
  EXPECT_EQ(upd.verb, "upd");
  EXPECT_EQ(upd.table, "quote");
  EXPECT_EQ(upd.form, UpdForm::kColumns);
  EXPECT_EQ(upd.batch.rows, 2u);
  EXPECT_TRUE(upd.names.empty());
  EXPECT_FALSE(upd.seq.has_value());
  EXPECT_THAT(Show(upd.batch),
              ElementsAre("long 2 01000000000000000200000000000000", "symbol 2 4149470042414300",
                          "float 2 000000000000f83f0000000000000440",
                          "list 2 0a0001000000780a0002000000797a"));
  // Spans over the message, not copies.
  EXPECT_EQ(upd.x.data(), body.data() + 6 + 5 + 7);
  EXPECT_EQ(upd.batch.columns[0].data.data(), upd.x.data() + 12);
}

TEST(UpdDecoder, ReadsARowOfAtoms) {
  const ByteBuffer body = Upd(Value::List({Value::Long(7), Value::Symbol("AIG"), Value::Char('c'),
                                           Value::String("note"), Value::Symbol("")}));
  UpdDecoder decoder;
  UpdView upd;
  ASSERT_TRUE(decoder.Decode(body, &upd).ok());
  EXPECT_EQ(upd.form, UpdForm::kRow);
  EXPECT_EQ(upd.batch.rows, 1u);
  EXPECT_THAT(Show(upd.batch),
              ElementsAre("long 1 0700000000000000", "symbol 1 41494700", "char 1 63",
                          "list 1 0a00040000006e6f7465", "symbol 1 00"));
}

TEST(UpdDecoder, ReadsATableWithItsNames) {
  const ByteBuffer body = Upd(Value::Table(
      {"sym", "n"}, {Value::Symbols({"a", ""}), Value::Longs({1, 2})}, Attribute::kSorted));
  UpdDecoder decoder;
  UpdView upd;
  ASSERT_TRUE(decoder.Decode(body, &upd).ok());
  EXPECT_EQ(upd.form, UpdForm::kTable);
  EXPECT_THAT(upd.names, ElementsAre("sym", "n"));
  EXPECT_EQ(upd.batch.rows, 2u);
  EXPECT_THAT(Show(upd.batch),
              ElementsAre("symbol 2 610000", "long 2 01000000000000000200000000000000"));
}

TEST(UpdDecoder, ReadsAKeyedTableAsOneTable) {
  const auto keyed = [](std::initializer_list<int64_t> minutes,
                        std::initializer_list<int64_t> trades) {
    return Value::KeyedTable(
        Value::Table({"sym", "minute"}, {Value::Symbols({"a", ""}), Value::Longs(minutes)}),
        Value::Table({"trades"}, {Value::Longs(trades)}));
  };
  const ByteBuffer body = Upd(keyed({1, 2}, {3, 4}));
  UpdDecoder decoder;
  UpdView upd;
  ASSERT_TRUE(decoder.Decode(body, &upd, 3).ok());
  EXPECT_EQ(upd.form, UpdForm::kTable);
  EXPECT_THAT(upd.names, ElementsAre("sym", "minute", "trades"));
  EXPECT_THAT(Show(upd.batch),
              ElementsAre("symbol 2 610000", "long 2 01000000000000000200000000000000",
                          "long 2 03000000000000000400000000000000"));
  // The last column has one row fewer: its count is in front of its two longs.
  ByteBuffer uneven = Upd(keyed({1, 2}, {3, 4}));
  uneven.data()[uneven.size() - 2 * sizeof(int64_t) - sizeof(int32_t)] = std::byte{1};
  EXPECT_THAT(DecodeError(uneven.span().first(uneven.size() - sizeof(int64_t))),
              HasSubstr("column 2 (trades) has 1 rows, column 0 (sym) has 2"));
  EXPECT_THAT(DecodeError(Upd(Value::Dict(Value::Symbols({"a"}), Value::Longs({1})))),
              HasSubstr("the keys: byte"));
  for (size_t cut = 0; cut < body.size(); ++cut) {
    EXPECT_NE(DecodeError(body.span().first(cut)), "") << cut;
  }
}

TEST(UpdDecoder, TransposesAListOfRows) {
  const ByteBuffer body = Upd(Value::List({
      Value::List({Value::Symbol("a"), Value::Int(1), Value::String("xy"), Value::Char('p')}),
      Value::List({Value::Symbol("bc"), Value::Int(2), Value::String("z"), Value::String("qq")}),
  }));
  UpdDecoder decoder;
  UpdView upd;
  ASSERT_TRUE(decoder.Decode(body, &upd).ok());
  EXPECT_EQ(upd.form, UpdForm::kRows);
  EXPECT_EQ(upd.batch.rows, 2u);
  EXPECT_THAT(Show(upd.batch),
              ElementsAre("symbol 2 6100626300", "int 2 0100000002000000",
                          "list 2 0a000200000078790a00010000007a", "list 2 f6700a00020000007171"));
}

TEST(UpdDecoder, TakesAVectorForARowIfTheTableHasAsManyColumns) {
  UpdDecoder decoder;
  UpdView upd;
  const ByteBuffer floats = Upd(Floats({1.0, 2.0}));
  for (size_t expected_columns : {0u, 2u}) {
    ASSERT_TRUE(decoder.Decode(floats, &upd, expected_columns).ok());
    EXPECT_EQ(upd.form, UpdForm::kRow);
    EXPECT_EQ(upd.batch.rows, 1u);
    EXPECT_THAT(Show(upd.batch),
                ElementsAre("float 1 000000000000f03f", "float 1 0000000000000040"));
  }
  EXPECT_THAT(DecodeError(floats, 3),
              HasSubstr("length: a row of 2 items, the table has 3 columns"));

  const ByteBuffer symbols = Upd(Value::Symbols({"a", "", "bc"}));
  ASSERT_TRUE(decoder.Decode(symbols, &upd, 3).ok());
  EXPECT_THAT(Show(upd.batch), ElementsAre("symbol 1 6100", "symbol 1 00", "symbol 1 626300"));
}

TEST(UpdDecoder, TakesVerbAndTableFromSymbolStringAndChar) {
  UpdDecoder decoder;
  UpdView upd;
  const Value x = Value::List({Value::Longs({1})});
  for (const Value& verb : {Value::Symbol(".u.upd"), Value::String(".u.upd")}) {
    for (const Value& table : {Value::Symbol("t"), Value::String("t"), Value::Char('t')}) {
      const ByteBuffer body = Encoded(Value::List({verb, table, x}));
      ASSERT_TRUE(decoder.Decode(body, &upd).ok());
      EXPECT_EQ(upd.verb, ".u.upd");
      EXPECT_EQ(upd.table, "t");
      EXPECT_EQ(PeekVerb(body), ".u.upd");
      EXPECT_EQ(PeekUpdTable(body), "t");
    }
  }
}

TEST(UpdDecoder, ReadsTheSequenceNumberAndMoreArguments) {
  UpdDecoder decoder;
  UpdView upd;
  const Value x = Value::List({Value::Longs({1})});
  const ByteBuffer body = Encoded(Value::List(
      {Value::Symbol("upd"), Value::Symbol("t"), x, Value::Long(42), Value::String("more")}));
  ASSERT_TRUE(decoder.Decode(body, &upd).ok());
  EXPECT_EQ(upd.seq, 42);
  EXPECT_EQ(ToHex(upd.x), ToHex(Encoded(x)));

  // The next message has none: nothing remains from the previous one.
  ASSERT_TRUE(decoder.Decode(Upd(x), &upd).ok());
  EXPECT_FALSE(upd.seq.has_value());
}

// A random batch: columns of equal length; the first is never nested.
struct RandomBatch {
  explicit RandomBatch(uint64_t seed) : rng(seed), rows(rng() % 6) {
    for (uint64_t n = 1 + rng() % 6; n > 0; --n) {
      columns.push_back(columns.empty() || rng() % 4 != 0 ? Atoms() : Strings());
    }
  }

  Value Atoms() {
    constexpr std::string_view kLetters = "bgxhijefcspmdznuvt";
    const Type type = *TypeOfLetter(kLetters[rng() % kLetters.size()]);
    const auto attribute = static_cast<Attribute>(rng() % 5);
    if (type == Type::kSymbol) {
      SymbolVector names;
      for (size_t i = 0; i < rows; ++i) names.push_back(Text());
      return Value::Symbols(std::move(names), attribute);
    }
    ByteBuffer elements;
    for (size_t i = 0; i < rows * WidthOf(type); ++i) {
      elements.AppendLittle(static_cast<uint8_t>(rng()));
    }
    return Value::Vector(type, std::move(elements), attribute);
  }
  Value Strings() {
    std::vector<Value> items;
    for (size_t i = 0; i < rows; ++i) items.push_back(Value::String(Text()));
    return Value::List(std::move(items));
  }
  std::string Text() { return std::string(rng() % 5, static_cast<char>('a' + rng() % 26)); }

  Value Cell(size_t column, size_t row) const {
    const Value& all = columns[column];
    if (all.is_list()) return all.items()[row];
    if (all.is(Type::kSymbol)) return Value::Symbol(all.symbols()[row]);
    const size_t width = WidthOf(all.type());
    return Value::AtomFromBytes(all.type(), all.elements().subspan(row * width, width));
  }
  Value Row(size_t row) const {
    std::vector<Value> cells;
    for (size_t i = 0; i < columns.size(); ++i) cells.push_back(Cell(i, row));
    return Value::List(std::move(cells));
  }
  Value ListOfRows() const {
    std::vector<Value> list;
    for (size_t i = 0; i < rows; ++i) list.push_back(Row(i));
    return Value::List(std::move(list));
  }
  Value AsTable() const {
    SymbolVector names;
    for (size_t i = 0; i < columns.size(); ++i) names.push_back(fmt::format("c{}", i));
    return Value::Table(std::move(names), columns);
  }
  std::vector<std::string> Expected() const {
    std::vector<std::string> shown;
    for (const Value& column : columns) shown.push_back(ShowColumn(column));
    return shown;
  }

  std::mt19937_64 rng;
  size_t rows;
  std::vector<Value> columns;
};

// Goal: all forms of x mean the same. Method: one random batch in each form that it has.
TEST(UpdDecoder, ReadsTheSameColumnsFromEveryForm) {
  UpdDecoder decoder;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE(seed);
    const RandomBatch random(seed);
    std::vector<std::pair<UpdForm, Value>> forms = {
        {UpdForm::kColumns, Value::List(random.columns)}, {UpdForm::kTable, random.AsTable()}};
    if (random.rows > 0) forms.emplace_back(UpdForm::kRows, random.ListOfRows());
    if (random.rows == 1) forms.emplace_back(UpdForm::kRow, random.Row(0));
    for (const auto& [form, x] : forms) {
      RowsView view;
      const ByteBuffer bytes = Encoded(x);
      const absl::Status status = decoder.DecodeX(bytes, &view);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(view.form, form);
      ASSERT_EQ(view.batch.rows, random.rows);
      ASSERT_EQ(Show(view.batch), random.Expected());
      ASSERT_EQ(view.names.size(), form == UpdForm::kTable ? random.columns.size() : 0);
    }
  }
}

TEST(UpdDecoder, RefusesCutMessagesWhereverTheyAreCut) {
  UpdDecoder decoder;
  UpdView upd;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const RandomBatch random(seed);
    for (const Value& x : {Value::List(random.columns), random.AsTable(), random.ListOfRows()}) {
      const ByteBuffer body = Upd(x);
      for (size_t bytes = 0; bytes < body.size(); ++bytes) {
        const ByteBuffer cut(body.span().first(bytes));
        ASSERT_FALSE(decoder.Decode(cut, &upd).ok()) << bytes;
      }
    }
  }
}

// Goal: the codec accepts everything that the decoder accepts, so that it can be logged and read
// back. Method: change random bytes in random upds.
TEST(UpdDecoder, AcceptsNothingThatIsNotAValue) {
  UpdDecoder decoder;
  UpdView upd;
  size_t accepted = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    const RandomBatch random(seed);
    const std::vector<Value> forms = {Value::List(random.columns), random.AsTable(),
                                      random.ListOfRows()};
    ByteBuffer body = Upd(forms[seed % forms.size()]);
    std::mt19937_64 rng(seed);
    for (uint64_t n = 1 + rng() % 2; n > 0; --n) {
      body.data()[rng() % body.size()] = static_cast<std::byte>(rng());
    }
    if (!decoder.Decode(body, &upd).ok()) continue;
    ++accepted;
    const absl::StatusOr<Value> value = Decode(body);
    ASSERT_TRUE(value.ok()) << value.status();
  }
  EXPECT_GT(accepted, 1'000u);
}

Value NestedCell(int depth) {
  Value cell = Value::List({Value::Long(1)});
  for (int i = 1; i < depth; ++i) cell = Value::List({std::move(cell)});
  return cell;
}

TEST(UpdDecoder, AcceptsNoCellThatWouldBeTooDeepInAnotherForm) {
  const Value deepest = NestedCell(kDepthMax - 4);
  EXPECT_EQ(DecodeError(Upd(Value::List({Value::Long(1), deepest}))), "");
  const Value as_table = Value::Table({"n", "cell"}, {Value::Longs({1}), Value::List({deepest})});
  EXPECT_EQ(DecodeError(Upd(as_table)), "");
  EXPECT_TRUE(Decode(Upd(as_table)).ok());
  EXPECT_THAT(DecodeError(Upd(Value::List({Value::Long(1), NestedCell(kDepthMax - 3)}))),
              HasSubstr("nested deeper than 64"));
}

TEST(UpdDecoder, RefusesColumnsOfDifferentCounts) {
  EXPECT_THAT(DecodeError(Upd(Value::List({Value::Longs({1, 2}), Value::Symbols({"a"})}))),
              HasSubstr("length: column 1 has 1 rows, column 0 has 2"));
  EXPECT_THAT(DecodeError(Upd(Value::List(
                  {Value::List({Value::Long(1), Value::Long(2)}), Value::List({Value::Long(1)})}))),
              HasSubstr("length: row 1 has 1 items, row 0 has 2"));
}

TEST(UpdDecoder, RefusesWhatIsNotAnUpd) {
  EXPECT_THAT(DecodeError(Value::String("select from t")),
              HasSubstr("type 10, expected 0 (an upd)"));
  EXPECT_THAT(DecodeError(Value::List({Value::Symbol("upd"), Value::Symbol("t")})),
              HasSubstr("a list of 2 items, expected 3 (verb; table; x) to 9"));
  EXPECT_THAT(DecodeError(Value::List({Value::Long(1), Value::Symbol("t"), Value::Longs({1})})),
              HasSubstr("the verb is of type -7, expected a symbol or string"));
  EXPECT_THAT(DecodeError(Value::List({Value::Symbol("upd"), Value(), Value::Longs({1})})),
              HasSubstr("the table's name is of type 101"));
  EXPECT_THAT(DecodeError(Upd(Value::Long(1))), HasSubstr("x is of type -7, expected a list"));
  EXPECT_THAT(DecodeError(Upd(Value::List({Value::Longs({1}), Value::Long(1)}))),
              HasSubstr("column 1: byte 38: type -7, expected a vector or list"));
  ByteBuffer more = Upd(Value::List({Value::Longs({1})}));
  more.AppendLittle(uint8_t{0});
  EXPECT_THAT(DecodeError(more), HasSubstr("the value ends here"));
}

TEST(UpdDecoder, BoundsTheColumns) {
  ByteBuffer bytes;
  bytes.resize(kColumnsMax + 1);
  std::memset(bytes.data(), 0, bytes.size());
  EXPECT_THAT(DecodeError(Upd(Value::Vector(Type::kByte, std::move(bytes)))),
              HasSubstr("length: 32769 columns, at most 32768"));
  EXPECT_THAT(DecodeError(FromHex("00 00 03000000 f57500 f57400 00 00 ffffff7f 0700")),
              HasSubstr("length: 2147483647 columns"));
  EXPECT_THAT(DecodeError(FromHex("00 00 03000000 f57500 f57400 00 00 01000000 07 00 ffffff7f 00")),
              HasSubstr("goes on past the end"));
}

TEST(UpdDecoder, ReadsAnEmptyListAsNoColumns) {
  UpdDecoder decoder;
  RowsView view;
  ASSERT_TRUE(decoder.DecodeX(Encoded(Value::List({})), &view).ok());
  EXPECT_EQ(view.batch.columns.size(), 0u);
  EXPECT_EQ(view.batch.rows, 0u);
}

// Returns the columns of x by the definition, from its decoded value.
std::vector<std::string> ColumnsByDefinition(const Value& x) {
  std::vector<std::string> shown;
  const std::vector<Value>& items = x.is_table() ? x.columns() : x.items();
  const bool is_row = !x.is_table() && !items.empty() && items.front().is_atom();
  for (const Value& item : items) shown.push_back(is_row ? ShowCell(item) : ShowColumn(item));
  return shown;
}

// Goal: every upd that real tickerplants logged is read. Method: compare every message of the real
// logs with the definition; only a few known messages may be no upds.
TEST(UpdDecoder, ReadsEveryUpdOfTheRealLogs) {
  TS_REQUIRE_FIXTURE(folder, "kdb");
  UpdDecoder decoder;
  size_t upds = 0, others = 0, rows = 0;
  std::map<UpdForm, size_t> forms;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const ByteBuffer file = ReadWholeFile(entry.path());
    if (file.size() < 8 || ToHex(file.span().first(3)) != "ff0100") continue;
    SCOPED_TRACE(entry.path());
    for (std::span<const std::byte> rest = file.span().subspan(8); !rest.empty();) {
      const absl::StatusOr<std::optional<size_t>> bytes = ValueBytes(rest);
      ASSERT_TRUE(bytes.ok() && bytes->has_value());
      const std::span<const std::byte> body = rest.first(**bytes);
      rest = rest.subspan(**bytes);
      UpdView upd;
      if (!decoder.Decode(body, &upd).ok()) {
        ++others;
        continue;
      }
      ++upds;
      ++forms[upd.form];
      rows += upd.batch.rows;
      const absl::StatusOr<Value> value = Decode(body);
      ASSERT_TRUE(value.ok());
      ASSERT_EQ(upd.verb, value->items()[0].text());
      ASSERT_EQ(upd.table, value->items()[1].text());
      ASSERT_EQ(Show(upd.batch), ColumnsByDefinition(value->items()[2]));
      ASSERT_EQ(PeekVerb(body), upd.verb);
      ASSERT_EQ(PeekUpdTable(body), upd.table);
    }
  }
  // The count of an independent reader.
  EXPECT_EQ(others, 7u);
  EXPECT_EQ(upds, 11'807u);
  EXPECT_EQ(rows, 36'043u);
  EXPECT_EQ(forms[UpdForm::kTable], 29u);
  EXPECT_EQ(forms[UpdForm::kRow], 3u);
}

TEST(PeekVerb, SaysNothingAboutWhatHasNone) {
  EXPECT_EQ(PeekVerb({}), std::nullopt);
  EXPECT_EQ(PeekVerb(Encoded(Value::String("select"))), std::nullopt);
  EXPECT_EQ(PeekVerb(Encoded(Value::List({}))), std::nullopt);
  EXPECT_EQ(PeekVerb(Encoded(Value::List({Value::Long(1)}))), std::nullopt);
  EXPECT_EQ(PeekVerb(FromHex("00 00 03000000 f5 757064")), std::nullopt);
  EXPECT_EQ(PeekVerb(Encoded(Value::Symbols({".u.sub", "trade", ""}))), ".u.sub");
  EXPECT_EQ(PeekUpdTable(Encoded(Value::Symbols({".u.sub", "trade", ""}))), "trade");
  EXPECT_EQ(PeekUpdTable(Encoded(Value::Symbols({".u.sub"}))), std::nullopt);
}

}  // namespace
}  // namespace tickstack::wire
