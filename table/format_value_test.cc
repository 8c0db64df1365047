#include "table/format_value.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/time.h"

namespace tickstack {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
Value Vector(Type type, std::vector<T> elements) {
  return Value::Vector(type, std::span<const T>(elements));
}

int64_t At(int year, int month, int day, int64_t ns_of_day) {
  return int64_t{DaysFromCivil(year, month, day)} * kNsPerDay + ns_of_day;
}

const int64_t kNineThirty = At(2013, 10, 7, 34'200 * kNsPerSecond + 123'456'789);

Value Trades() {
  return Value::Table(
      {"time", "sym", "price", "size", "stop", "cond"},
      {Vector<int64_t>(Type::kTimestamp, {kNineThirty, kNullLong}), Value::Symbols({"AIG", ""}),
       Vector<double>(Type::kFloat, {48.5, kNaN}), Vector<int32_t>(Type::kInt, {100, kNullInt}),
       Vector<uint8_t>(Type::kBoolean, {1, 0}), Value::String("@ ")});
}

std::string Text(const Value& value) {
  std::string text = FormatText(value);
  if (!text.empty()) text.pop_back();  // Removes the LF.
  return text;
}

TEST(FormatText, WritesAtomsAsQ) {
  EXPECT_EQ(Text(Value::Boolean(true)), "1b");
  EXPECT_EQ(Text(Value::Byte(0x0f)), "0x0f");
  EXPECT_EQ(Text(Value::Short(5)), "5h");
  EXPECT_EQ(Text(Value::Int(-5)), "-5i");
  EXPECT_EQ(Text(Value::Long(5)), "5");
  EXPECT_EQ(Text(Value::Real(2.5f)), "2.5e");
  EXPECT_EQ(Text(Value::Float(2.5)), "2.5");
  EXPECT_EQ(Text(Value::Float(3)), "3f");
  EXPECT_EQ(Text(Value::Float(0.1 + 0.2)), "0.30000000000000004");
  EXPECT_EQ(Text(Value::Char('a')), "\"a\"");
  EXPECT_EQ(Text(Value::Symbol("AIG")), "`AIG");
  EXPECT_EQ(Text(Value::Timestamp(kNineThirty)), "2013.10.07D09:30:00.123456789");
  EXPECT_EQ(Text(Value::Atom(Type::kMonth, int32_t{-1})), "1999.12m");
  EXPECT_EQ(Text(Value::Date(DaysFromCivil(2013, 10, 7))), "2013.10.07");
  EXPECT_EQ(Text(Value::Atom(Type::kDatetime, 0.5)), "2000.01.01T12:00:00.000");
  EXPECT_EQ(Text(Value::Atom(Type::kDatetime, 1e9)), "1000000000");
  EXPECT_EQ(Text(Value::Timespan(-1)), "-0D00:00:00.000000001");
  EXPECT_EQ(Text(Value::Timespan(kNsPerDay + kNsPerSecond)), "1D00:00:01.000000000");
  EXPECT_EQ(Text(Value::Atom(Type::kMinute, int32_t{570})), "09:30");
  EXPECT_EQ(Text(Value::Atom(Type::kSecond, int32_t{-61})), "-00:01:01");
  EXPECT_EQ(Text(Value::Atom(Type::kTime, int32_t{34'200'123})), "09:30:00.123");
  EXPECT_EQ(Text(Value()), "");
  EXPECT_EQ(Text(Value::Lambda("{x+y}")), "{x+y}");
}

TEST(FormatText, WritesNullsAndInfinitiesAsQ) {
  EXPECT_EQ(Text(Value::Short(kNullShort)), "0Nh");
  EXPECT_EQ(Text(Value::Int(kInfinityInt)), "0Wi");
  EXPECT_EQ(Text(Value::Long(kNullLong)), "0N");
  EXPECT_EQ(Text(Value::Long(-kInfinityLong)), "-0W");
  EXPECT_EQ(Text(Value::Float(kNaN)), "0n");
  EXPECT_EQ(Text(Value::Float(-kInfinity)), "-0w");
  EXPECT_EQ(Text(Value::Real(std::numeric_limits<float>::quiet_NaN())), "0ne");
  EXPECT_EQ(Text(Value::Timestamp(kNullLong)), "0Np");
  EXPECT_EQ(Text(Value::Date(kNullInt)), "0Nd");
  EXPECT_EQ(Text(Value::Symbol("")), "`");
  EXPECT_EQ(Text(Value::Atom(Type::kGuid, std::array<uint8_t, 16>{})),
            "00000000-0000-0000-0000-000000000000");
}

TEST(FormatText, WritesVectorsAsQ) {
  EXPECT_EQ(Text(Value::Longs({1, 2, kNullLong})), "1 2 0N");
  EXPECT_EQ(Text(Value::Longs({1})), ",1");
  EXPECT_EQ(Text(Value::Longs({})), "`long$()");
  EXPECT_EQ(Text(Vector<int32_t>(Type::kInt, {1, kNullInt, 3})), "1 0N 3i");
  EXPECT_EQ(Text(Vector<int32_t>(Type::kInt, {1, kNullInt})), "1 0Ni");
  EXPECT_EQ(Text(Vector<double>(Type::kFloat, {1, 2})), "1 2f");
  EXPECT_EQ(Text(Vector<double>(Type::kFloat, {1, 2.5, kNaN})), "1 2.5 0n");
  EXPECT_EQ(Text(Vector<int32_t>(Type::kDate, {kNullInt, 0})), "0N 2000.01.01");
  EXPECT_EQ(Text(Vector<int32_t>(Type::kDate, {kNullInt, kNullInt})), "0N 0Nd");
  EXPECT_EQ(Text(Vector<uint8_t>(Type::kBoolean, {1, 0, 1})), "101b");
  EXPECT_EQ(Text(Vector<uint8_t>(Type::kByte, {1, 255})), "0x01ff");
  EXPECT_EQ(Text(Value::Symbols({"a", "", "b"})), "`a``b");
  EXPECT_EQ(Text(Value::String("say \"hi\"\n\x01")), "\"say \\\"hi\\\"\\n\\001\"");
}

TEST(FormatText, WritesListsAndDictionariesByLine) {
  EXPECT_EQ(Text(Value::List({})), "()");
  EXPECT_EQ(Text(Value::List({Value::Long(1), Value::String("ab"),
                              Value::List({Value::Long(2), Value::Longs({3, 4})})})),
            "1\n\"ab\"\n(2;3 4)");
  EXPECT_EQ(Text(Value::Dict(Value::Symbols({"a", "long"}), Value::Longs({1, kNullLong}))),
            "a   | 1\nlong|");
}

TEST(FormatText, AlignsATableUnderARule) {
  EXPECT_EQ(FormatText(Trades()),
            "time                          sym price size stop cond\n"
            "------------------------------------------------------\n"
            "2013.10.07D09:30:00.123456789 AIG 48.5  100  1    @\n"
            "                                             0\n");
}

TEST(FormatText, PutsABarAfterTheKey) {
  EXPECT_EQ(FormatText(Value::KeyedTable(Value::Table({"sym"}, {Value::Symbols({"AIG", "BAC"})}),
                                         Value::Table({"n"}, {Value::Longs({5, 10})}))),
            "sym| n\n---| --\nAIG| 5\nBAC| 10\n");
}

TEST(FormatText, CutsWhatTheTerminalDoesNotHold) {
  const Value table = Value::Table({"number"}, {Value::Longs({1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(FormatText(table, {.lines = 5}), "number\n------\n1\n2\n..\n");
  EXPECT_EQ(FormatText(table, {.lines = 8}), "number\n------\n1\n2\n3\n4\n5\n6\n");
  EXPECT_EQ(FormatText(Value::String("abcdefghij"), {.columns = 8}), "\"abcde..\n");
  EXPECT_EQ(FormatText(Value::String("\xc3\xa4\xc3\xb6"), {.columns = 4}),
            "\"\xc3\xa4\xc3\xb6\"\n");
}

TEST(FormatText, KeepsATerminalFromBeingSteered) {
  const Value table = Value::Table({"s\x1b"}, {Value::Symbols({"a\x1b[2J"})});
  EXPECT_EQ(FormatText(table).find('\x1b'), std::string::npos);
  EXPECT_EQ(FormatText(Value::Symbol("\x1b[2J")), "`.[2J\n");
}

TEST(FormatJson, WritesAtomsAsScalars) {
  EXPECT_EQ(FormatJson(Value::Boolean(true)), "true");
  EXPECT_EQ(FormatJson(Value::Byte(255)), "255");
  EXPECT_EQ(FormatJson(Value::Int(-5)), "-5");
  EXPECT_EQ(FormatJson(Value::Long(9'007'199'254'740'993)), "9007199254740993");
  EXPECT_EQ(FormatJson(Value::Float(0.1)), "0.1");
  EXPECT_EQ(FormatJson(Value::Float(1e300)), "1e+300");
  EXPECT_EQ(FormatJson(Value::Char('a')), "\"a\"");
  EXPECT_EQ(FormatJson(Value::Symbol("AIG")), "\"AIG\"");
  EXPECT_EQ(FormatJson(Value::Timestamp(kNineThirty)), "\"2013-10-07T09:30:00.123456789\"");
  EXPECT_EQ(FormatJson(Value::Atom(Type::kMonth, int32_t{3})), "\"2000-04\"");
  EXPECT_EQ(FormatJson(Value::Date(0)), "\"2000-01-01\"");
  EXPECT_EQ(FormatJson(Value::Atom(Type::kDatetime, 0.5)), "\"2000-01-01T12:00:00.000\"");
  EXPECT_EQ(FormatJson(Value::Atom(Type::kTime, int32_t{1})), "\"00:00:00.001\"");
}

TEST(FormatJson, WritesEveryNullAsNull) {
  for (const Value& null :
       {Value(), Value::Short(kNullShort), Value::Int(kNullInt), Value::Long(kNullLong),
        Value::Float(kNaN), Value::Timestamp(kNullLong), Value::Date(kNullInt), Value::Symbol(""),
        Value::Atom(Type::kGuid, std::array<uint8_t, 16>{}), Value::Atom(Type::kDatetime, kNaN)}) {
    EXPECT_EQ(FormatJson(null), "null");
  }
  EXPECT_EQ(FormatJson(Value::Float(kInfinity)), "\"inf\"");
  EXPECT_EQ(FormatJson(Value::Timestamp(-kInfinityLong)), "\"-inf\"");
  EXPECT_EQ(FormatJson(Value::Char(' ')), "\" \"");
}

TEST(FormatJson, WritesVectorsAndListsAsArrays) {
  EXPECT_EQ(FormatJson(Value::Longs({1, kNullLong})), "[1,null]");
  EXPECT_EQ(FormatJson(Value::Longs({})), "[]");
  EXPECT_EQ(FormatJson(Value::Symbols({"a", "b"})), "[\"a\",\"b\"]");
  EXPECT_EQ(FormatJson(Value::String("ab")), "\"ab\"");
  EXPECT_EQ(FormatJson(Value::List({Value::Long(1), Value::String("ab"), Value()})),
            "[1,\"ab\",null]");
}

TEST(FormatJson, WritesATableAsAnArrayOfRows) {
  EXPECT_EQ(FormatJson(Trades()),
            "[{\"time\":\"2013-10-07T09:30:00.123456789\",\"sym\":\"AIG\",\"price\":48.5,"
            "\"size\":100,\"stop\":true,\"cond\":\"@\"},"
            "{\"time\":null,\"sym\":null,\"price\":null,\"size\":null,\"stop\":false,\"cond\":\" "
            "\"}]");
  EXPECT_EQ(FormatJson(Value::Table({"a"}, {Value::Longs({})})), "[]");
}

TEST(FormatJson, PutsTheKeyColumnsOfAKeyedTableIntoItsRows) {
  EXPECT_EQ(FormatJson(Value::KeyedTable(Value::Table({"sym"}, {Value::Symbols({"AIG"})}),
                                         Value::Table({"n"}, {Value::Longs({5})}))),
            "[{\"sym\":\"AIG\",\"n\":5}]");
}

TEST(FormatJson, WritesADictionaryAsAnObject) {
  EXPECT_EQ(FormatJson(Value::Dict(Value::Symbols({"a", "b"}), Value::Longs({1, 2}))),
            "{\"a\":1,\"b\":2}");
  EXPECT_EQ(FormatJson(Value::Dict(Value::Longs({7}), Value::List({Value::Longs({1, 2})}))),
            "{\"7\":[1,2]}");
}

TEST(FormatJson, SurvivesADictionaryWhoseSidesDiffer) {
  const Value odd =
      Value::Pair(Type::kDict, Attribute::kNone, Value::Longs({1, 2}), Value::Symbols({"a"}));
  EXPECT_EQ(FormatJson(odd), "{\"1\":\"a\",\"2\":null}");
  EXPECT_EQ(FormatCsv(odd), "key,value\n1,a\n2,\n");
  EXPECT_EQ(FormatText(odd), "1| a\n2|\n");
}

TEST(FormatJson, EscapesTextAndReplacesWhatIsNotUtf8) {
  EXPECT_EQ(FormatJson(Value::String("\"\\\n\x01")), "\"\\\"\\\\\\u000a\\u0001\"");
  EXPECT_EQ(FormatJson(Value::String("\xc3\xa4\xf0\x9f\x98\x80")), "\"\xc3\xa4\xf0\x9f\x98\x80\"");
  for (const char* bad : {"\xff", "\xc0", "\xc3", "\xed\xa0\x80", "\xf8"}) {
    EXPECT_NE(FormatJson(Value::String(bad)).find("\xef\xbf\xbd"), std::string::npos);
  }
}

TEST(FormatCsv, WritesNamesAndRows) {
  EXPECT_EQ(FormatCsv(Trades()),
            "time,sym,price,size,stop,cond\n"
            "2013-10-07T09:30:00.123456789,AIG,48.5,100,true,@\n"
            ",,,,false, \n");
}

TEST(FormatCsv, QuotesWhatHoldsACommaAQuoteOrALineEnd) {
  const Value table = Value::Table(
      {"a,b", "s"}, {Value::Symbols({"x\"y"}), Value::List({Value::String("one\ntwo")})});
  EXPECT_EQ(FormatCsv(table), "\"a,b\",s\n\"x\"\"y\",\"one\ntwo\"\n");
}

TEST(FormatXml, WritesRowsOfElements) {
  const Value table =
      Value::Table({"sym", "a b", "n"}, {Value::Symbols({"<a>&", ""}),
                                         Value::List({Value::String("x\r\x01\xff\""), Value()}),
                                         Value::Longs({1, kNullLong})});
  EXPECT_EQ(FormatXml(table),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<R>\n"
            "<r><sym>&lt;a&gt;&amp;</sym>"
            "<column name=\"a b\">x&#13;\xef\xbf\xbd\xef\xbf\xbd&quot;</column><n>1</n></r>\n"
            "<r><sym></sym><column name=\"a b\"></column><n></n></r>\n</R>\n");
  const auto rows = [](const Value& value) {
    const std::string xml = FormatXml(value);
    const size_t begin = xml.find("<R>\n") + 4;
    return xml.substr(begin, xml.find("</R>") - begin);
  };
  EXPECT_EQ(rows(Value::Long(42)), "<r><value>42</value></r>\n");
  EXPECT_EQ(rows(Value::String("a<b")), "<r><value>a&lt;b</value></r>\n");
  EXPECT_EQ(rows(Value::Longs({1, 2})), "<r><value>1</value></r>\n<r><value>2</value></r>\n");
  EXPECT_EQ(rows(Value::Dict(Value::Symbols({"a"}), Value::Longs({1}))),
            "<r><key>a</key><value>1</value></r>\n");
  EXPECT_EQ(rows(Value::KeyedTable(Value::Table({"k"}, {Value::Longs({1})}),
                                   Value::Table({"v"}, {Value::Longs({2})}))),
            "<r><k>1</k><v>2</v></r>\n");
  EXPECT_EQ(rows(Value::Table({"k"}, {Value::Longs({})})), "");
  EXPECT_EQ(rows(Value::Table({"c"}, {Value::String("a&")})),
            "<r><c>a</c></r>\n<r><c>&amp;</c></r>\n");
}

TEST(FormatWorkbook, TypesItsCells) {
  const Value table = Value::Table(
      {"s", "n", "x"}, {Value::Symbols({"<", "=1+1"}), Value::Longs({1, int64_t{1} << 60}),
                        Vector<double>(Type::kFloat, {1.5, kNaN})});
  const std::string workbook = FormatWorkbook(table);
  const size_t begin = workbook.find("<Row>");
  EXPECT_EQ(workbook.substr(begin, workbook.find("</Table>") - begin),
            "<Row><Cell><Data ss:Type=\"String\">s</Data></Cell>"
            "<Cell><Data ss:Type=\"String\">n</Data></Cell>"
            "<Cell><Data ss:Type=\"String\">x</Data></Cell></Row>\n"
            "<Row><Cell><Data ss:Type=\"String\">&lt;</Data></Cell>"
            "<Cell><Data ss:Type=\"Number\">1</Data></Cell>"
            "<Cell><Data ss:Type=\"Number\">1.5</Data></Cell></Row>\n"
            "<Row><Cell><Data ss:Type=\"String\">=1+1</Data></Cell>"
            "<Cell><Data ss:Type=\"String\">1152921504606846976</Data></Cell><Cell/></Row>\n");
}

TEST(FormatCsv, WritesAtomsVectorsAndDictionaries) {
  EXPECT_EQ(FormatCsv(Value::Long(42)), "42\n");
  EXPECT_EQ(FormatCsv(Value::String("a,b")), "\"a,b\"\n");
  EXPECT_EQ(FormatCsv(Value::Symbols({"a", "", "b"})), "a\n\nb\n");
  EXPECT_EQ(FormatCsv(Value::List({Value::Longs({1, 2}), Value::Float(kNaN)})), "\"[1,2]\"\n\n");
  EXPECT_EQ(FormatCsv(Value::Dict(Value::Symbols({"a"}), Value::Longs({1}))), "key,value\na,1\n");
  EXPECT_EQ(FormatCsv(Value::KeyedTable(Value::Table({"k"}, {Value::Longs({1})}),
                                        Value::Table({"v"}, {Value::Longs({2})}))),
            "k,v\n1,2\n");
}

TEST(FormatGrid, ATableHasColumnsOfTexts) {
  EXPECT_EQ(FormatGrid(Trades()),
            R"({"kind":"table","rows":2,"shown":2,"cut":0,"keys":0,"columns":[)"
            R"({"name":"time","type":"p","cells":["2013.10.07D09:30:00.123456789",""]},)"
            R"({"name":"sym","type":"s","cells":["AIG",""]},)"
            R"({"name":"price","type":"f","cells":["48.5",""]},)"
            R"({"name":"size","type":"i","cells":["100",""]},)"
            R"({"name":"stop","type":"b","cells":["1","0"]},)"
            R"({"name":"cond","type":"c","cells":["@"," "]}]})");
  const Value keyed = Value::Dict(Value::Table({"a\"b"}, {Value::Symbols({"x"})}),
                                  Value::Table({"n"}, {Value::List({Value::String("s")})}));
  EXPECT_EQ(
      FormatGrid(keyed),
      R"({"kind":"table","rows":1,"shown":1,"cut":0,"keys":1,"columns":[)"
      R"({"name":"a\"b","type":"s","cells":["x"]},{"name":"n","type":"C","cells":[",\"s\""]}]})");
}

TEST(FormatGrid, EachDigitOfALongIsThere) {
  const Value longs = Vector<int64_t>(Type::kLong, {9'007'199'254'740'993, kInfinityLong});
  EXPECT_EQ(FormatGrid(longs),
            R"({"kind":"list","rows":2,"shown":2,"cut":0,"keys":0,"columns":[)"
            R"({"name":"value","type":"j","cells":["9007199254740993","0W"]}]})");
}

TEST(FormatGrid, OtherValuesAreTexts) {
  EXPECT_EQ(FormatGrid(Value()), R"({"kind":"nothing","cut":0,"text":""})");
  EXPECT_EQ(FormatGrid(Value::String("a<b")), R"({"kind":"text","cut":0,"text":"\"a<b\"\u000a"})");
  EXPECT_EQ(
      FormatGrid(Value::Dict(Value::Symbols({"a"}), Vector<int64_t>(Type::kLong, {1}))),
      R"({"kind":"dictionary","rows":1,"shown":1,"cut":0,"keys":1,"columns":[)"
      R"({"name":"key","type":"s","cells":["a"]},{"name":"value","type":"j","cells":["1"]}]})");
  EXPECT_EQ(FormatGrid(Value::Table({"a"}, {Vector<int64_t>(Type::kLong, {})})),
            R"({"kind":"table","rows":0,"shown":0,"cut":0,"keys":0,"columns":[)"
            R"({"name":"a","type":"j","cells":[]}]})");
}

TEST(FormatGrid, ItsLimitsAreToldAndKept) {
  const Value longs = Vector<int64_t>(Type::kLong, {10, 20, 30});
  EXPECT_EQ(FormatGrid(longs, {.rows = 1}),
            R"({"kind":"list","rows":3,"shown":1,"cut":0,"keys":0,"columns":[)"
            R"({"name":"value","type":"j","cells":["10"]}]})");
  EXPECT_EQ(FormatGrid(longs, {.bytes = 6}),
            R"({"kind":"list","rows":3,"shown":2,"cut":0,"keys":0,"columns":[)"
            R"({"name":"value","type":"j","cells":["10","20"]}]})");
  const Value names = Value::Symbols({"abcd",
                                      "ab\xc3\xa9"
                                      "d",
                                      "abc"});
  EXPECT_EQ(FormatGrid(names, {.cell_bytes = 3}),
            R"({"kind":"list","rows":3,"shown":3,"cut":2,"keys":0,"columns":[)"
            R"({"name":"value","type":"s","cells":["abc..","ab..","abc"]}]})");
  EXPECT_EQ(FormatGrid(Value::String("abcdef"), {.text_bytes = 3}),
            R"({"kind":"text","cut":1,"text":"\"ab.."})");
}

}  // namespace
}  // namespace tickstack
