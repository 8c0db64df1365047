#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "cli/import_field.h"
#include "cli/import_mapping.h"
#include "cli/import_rows.h"
#include "disk/partition_testing.h"
#include "interchange/arrow_message.h"
#include "table/batch_testing.h"

namespace tickstack::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- Fields

MappedColumn ColumnOf(char type) {
  MappedColumn column;
  column.spec = {"a", type == 'C' ? Type::kList : *TypeOfLetter(type)};
  return column;
}

// Returns the element of a field, or 99 after an error.
template <typename T>
T Parsed(const MappedColumn& column, std::string_view text, bool is_null = false) {
  ByteBuffer out;
  const absl::Status status = AppendField(column, text, is_null, out);
  if (!status.ok()) return T{99};
  EXPECT_EQ(out.size(), sizeof(T)) << text;
  return LoadLittle<T>(out.data());
}
template <typename T>
T Parsed(char type, std::string_view text, bool is_null = false) {
  return Parsed<T>(ColumnOf(type), text, is_null);
}

TEST(ImportFieldTest, NumbersAreWholeTexts) {
  EXPECT_EQ(Parsed<int64_t>('j', " 42 "), 42);
  EXPECT_EQ(Parsed<int64_t>('j', "+42"), 42);
  EXPECT_EQ(Parsed<int32_t>('i', "-3"), -3);
  EXPECT_EQ(Parsed<int16_t>('h', ""), kNullShort);
  EXPECT_EQ(Parsed<int64_t>('j', "NA", true), kNullLong);
  EXPECT_EQ(Parsed<double>('f', "1.5e3"), 1500);
  EXPECT_EQ(Parsed<double>('f', "-inf"), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(Parsed<double>('f', "")));
  EXPECT_TRUE(std::isnan(Parsed<float>('e', "nan")));
  for (const char* text : {"4x", "x", "1.5", "1,5", "0x10", "-", "+-4", "9223372036854775808",
                           "-9223372036854775808"}) {
    EXPECT_EQ(Parsed<int64_t>('j', text), 99) << text;
  }
  EXPECT_EQ(Parsed<int16_t>('h', "32768"), 99);
  EXPECT_EQ(Parsed<double>('f', "1.5.2"), 99);
  EXPECT_EQ(Parsed<uint8_t>('b', "True"), 1);
  EXPECT_EQ(Parsed<uint8_t>('b', "n"), 0);
  EXPECT_EQ(Parsed<uint8_t>('b', "2"), 99);
  EXPECT_EQ(Parsed<uint8_t>('b', ""), 99);
}

TEST(ImportFieldTest, TimesHaveQsFormsAFormatOrAUnit) {
  constexpr int64_t kNoon = 7373 * kNsPerDay + 43'200 * kNsPerSecond;  // 2020.03.09D12
  EXPECT_EQ(Parsed<int64_t>('p', "2020.03.09D12:00:00.000000001"), kNoon + 1);
  EXPECT_EQ(Parsed<int64_t>('p', "2020-03-09T12:00:00"), kNoon);
  EXPECT_EQ(Parsed<int64_t>('p', "2020-03-09 12:00:00.5"), kNoon + kNsPerSecond / 2);
  EXPECT_EQ(Parsed<int64_t>('p', ""), kNullLong);
  EXPECT_EQ(Parsed<int32_t>('d', "2020-03-09"), 7373);
  EXPECT_EQ(Parsed<int64_t>('n', "12:00:00"), 43'200 * kNsPerSecond);
  EXPECT_EQ(Parsed<int32_t>('t', "12:00:00.001"), 43'200'001);
  EXPECT_EQ(Parsed<int32_t>('v', "12:00:01"), 43'201);
  EXPECT_EQ(Parsed<int32_t>('u', "12:01"), 721);
  EXPECT_EQ(Parsed<int32_t>('u', ""), kNullInt);
  for (const char* text : {"noon", "2020-13-09 12:00:00", "12/31/2020"}) {
    EXPECT_EQ(Parsed<int64_t>('p', text), 99) << text;
    EXPECT_EQ(Parsed<int32_t>('d', text), 99) << text;
  }
  MappedColumn column = ColumnOf('p');
  column.format = "%m/%d/%Y %H:%M:%E*S";
  EXPECT_EQ(Parsed<int64_t>(column, "03/09/2020 12:00:00.000000001"), kNoon + 1);
  EXPECT_EQ(Parsed<int64_t>(column, "2020-03-09T12:00:00"), 99);
  EXPECT_EQ(Parsed<int64_t>(column, "03/09/2320 12:00:00"), 99);
  column.format.clear();
  column.unit_ns = 1'000'000;
  EXPECT_EQ(Parsed<int64_t>(column, "1583755200001"), kNoon + 1'000'000);
  EXPECT_EQ(Parsed<int64_t>(column, "9223372036854775807"), 99);
  EXPECT_EQ(Parsed<int64_t>(column, "1.5"), 99);
}

TEST(ImportFieldTest, TextsAreTakenAsTheyAre) {
  const auto parsed = [](char type, std::string_view text, bool is_null = false) {
    ByteBuffer out;
    const absl::Status status = AppendField(ColumnOf(type), text, is_null, out);
    return status.ok() ? std::string(AsText(out.span())) : std::string(Message(status));
  };
  EXPECT_EQ(parsed('s', " A B"), std::string(" A B\0", 5));
  EXPECT_EQ(parsed('s', "NA", true), std::string(1, '\0'));
  EXPECT_EQ(parsed('s', std::string("A\0B", 3)), "a symbol with a byte 0");
  EXPECT_EQ(parsed('c', ""), " ");
  EXPECT_EQ(parsed('c', "x"), "x");
  EXPECT_EQ(parsed('c', "xy"), "expected a value of type char, found \"xy\"");
  EXPECT_EQ(parsed('C', "xy"), std::string("\x0a\0\2\0\0\0xy", 8));
}

// ---- Mappings

std::string MappingError(std::string_view text) {
  const auto mapping = ParseImportMapping(text, "m.toml");
  return mapping.ok() ? "" : std::string(Message(mapping.status()));
}

TEST(ImportMappingTest, AWrongKeyIsNamed) {
  const std::string columns = "[[column]]\nname = 'time'\ntype = 'p'\n";
  EXPECT_EQ(MappingError("table = 'trade'\n" + columns), "");
  EXPECT_THAT(MappingError(columns), HasSubstr("table: expected letters"));
  EXPECT_THAT(MappingError("table = 't'\n"), HasSubstr("column: expected a [[column]]"));
  EXPECT_THAT(MappingError("table = 't'\nhaeder = true\n" + columns), HasSubstr("did you mean"));
  EXPECT_THAT(MappingError("table = 't'\ndelimiter = ''\n" + columns), HasSubstr("one byte"));
  EXPECT_THAT(MappingError("table = 't'\n[[column]]\nname = 'a'\ntype = 'j'\n"),
              HasSubstr("date: expected date, date_column or a column of timestamps"));
  EXPECT_THAT(MappingError("table = 't'\ndate = '2020.03.09'\ndate_column = 'd'\n" + columns),
              HasSubstr("found both"));
  EXPECT_THAT(MappingError("table = 't'\ndate_format = '%d'\n" + columns),
              HasSubstr("date_column, which is missing"));
  EXPECT_THAT(MappingError("table = 't'\n" + columns + columns), HasSubstr("a second column"));
  for (const auto& [line, error] : std::vector<std::pair<std::string, std::string>>{
           {"name = 'a b'\ntype = 'j'\n", "name: expected letters"},
           {"name = 'a'\ntype = 'g'\n", "type: expected one of the letters"},
           {"name = 'a'\ntype = 'j'\nformat = '%d'\n", "only timestamps and dates"},
           {"name = 'a'\ntype = 'j'\nunit = 'ms'\n", "only timestamps have a unit"},
           {"name = 'a'\ntype = 'p'\nunit = 'm'\n", "unit: expected"},
           {"name = 'a'\ntype = 'p'\nunit = 'ms'\nformat = '%d'\n", "a format or a unit"},
           {"name = 'count'\ntype = 'j'\n", "column count: this is a word of q"},
           {"name = 'date'\ntype = 'd'\n", "a partition gives its rows the column date"}}) {
    EXPECT_THAT(MappingError("table = 't'\ndate = '2020.03.09'\n[[column]]\n" + line),
                HasSubstr(error));
  }
  EXPECT_THAT(MappingError("table = 'upper'\ndate = '2020.03.09'\n[[column]]\nname = 'a'\n"),
              HasSubstr("table upper: this is a word of q"));
  EXPECT_THAT(MappingError("table = 'month'\ndate = '2020.03.09'\n[[column]]\nname = 'a'\n"),
              HasSubstr("table month: queries of a partitioned database"));
}

// ---- Files

class ImportRowsTest : public testing::Test {
 protected:
  void Map(std::string_view text) {
    auto mapping = ParseImportMapping(text, "m.toml");
    ASSERT_TRUE(mapping.ok()) << mapping.status();
    mapping_ = *std::move(mapping);
    rows_.emplace(mapping_);
  }
  std::string Add(std::string_view bytes) {
    disk::PutFile(folder_ / "a.csv", bytes);
    const absl::Status status = rows_->Add(folder_ / "a.csv");
    const std::string error(Message(status));
    return error.substr(error.rfind('/') + 1);
  }

  disk::TemporaryFolder folder_;
  ImportMapping mapping_;
  std::optional<ImportRows> rows_;
};

constexpr std::string_view kTrades = R"(
table = "trade"
null = ["NA"]
[[column]]
name = "sym"
type = "s"
from = "Symbol"
[[column]]
name = "time"
type = "p"
[[column]]
name = "size"
type = "j"
)";

TEST_F(ImportRowsTest, RowsGoToTheTableOfTheirDay) {
  Map(kTrades);
  EXPECT_EQ(Add("time,size,Symbol,more\n2020-03-09 09:30:00,1,A,x\n2020-03-10 09:30:00,NA,B,x\n"
                "2020-03-09 09:31:00,3,NA,x\n"),
            "");
  EXPECT_EQ(Add("Symbol,size,time\nA,4,2020-03-09 09:32:00\n"), "");
  ASSERT_EQ(rows_->days().size(), 2u);
  const Snapshot first = rows_->days().at(7373)->TakeSnapshot();
  EXPECT_THAT(All<int64_t>(first, 2), ElementsAre(1, 3, 4));
  EXPECT_THAT(All<SymbolId>(first, 0), ElementsAre(0, kNullSymbol, 0));
  EXPECT_THAT(All<int64_t>(rows_->days().at(7374)->TakeSnapshot(), 2), ElementsAre(kNullLong));
  EXPECT_EQ(rows_->rows(), 4u);
}

TEST_F(ImportRowsTest, ARecordThatDoesNotFitIsNamed) {
  Map(kTrades);
  EXPECT_EQ(Add("time,size\n"), "a.csv:1: the header has no columns Symbol");
  EXPECT_EQ(Add("time,size,size,Symbol\n"), "a.csv:1: the header has several columns size");
  EXPECT_EQ(Add(""), "a.csv:1: expected a header");
  EXPECT_EQ(Add("time,size,Symbol\n2020-03-09 09:30:00,1\n"), "a.csv:2: 2 fields, expected 3");
  EXPECT_EQ(Add("time,size,Symbol\n2020-03-09 09:30:00,x,A\n"),
            "a.csv:2: size: expected a value of type long, found \"x\"");
  EXPECT_EQ(Add("time,size,Symbol\n,1,A\n"), "a.csv:2: date: column time is null");
}

// Several columns of the table may come from the same column of the file.
TEST_F(ImportRowsTest, AColumnOfTheFileCanBeUsedTwice) {
  Map("table = 't'\ndate_column = 'at'\n[[column]]\nname = 'a'\ntype = "
      "'s'\n"
      "from = 'at'\n[[column]]\nname = 'b'\ntype = 'j'\nfrom = 'at'\n");
  EXPECT_EQ(Add("at\n20200309\n"), "");
  EXPECT_THAT(All<int64_t>(rows_->days().at(7373)->TakeSnapshot(), 1), ElementsAre(20200309));
}

TEST_F(ImportRowsTest, DaysAreThoseThatAPartitionCanHave) {
  Map("table = 't'\ndate_column = 'a'\n[[column]]\nname = 'a'\ntype = 'd'\n");
  EXPECT_EQ(Add("a\n0001-01-01\n9999-12-31\n"), "");
  EXPECT_EQ(Add("a\n2020-01-01\n0000-12-31\n"), "a.csv:3: date: not in the years 1 to 9999");
  Map("table = 't'\ndate_column = 'a'\n[[column]]\nname = 'a'\ntype = 'd'\n");
  std::string file = "a\n";
  for (int32_t day = 0; day < 20'001; ++day) file += FormatDate(day) + "\n";
  EXPECT_EQ(Add(file),
            "a.csv:20002: date: rows of more than 20000 days: is the format of dates right?");
}

TEST_F(ImportRowsTest, WithoutAHeaderColumnsHaveNumbers) {
  Map("table = 't'\nheader = false\ndate_column = '2'\ndate_format = '%d.%m.%Y'\ndelimiter = ';'\n"
      "[[column]]\nname = 'a'\ntype = 'j'\nfrom = '1'\n");
  EXPECT_EQ(Add("1;09.03.2020\n2;10.03.2020\n"), "");
  EXPECT_EQ(rows_->days().size(), 2u);
  EXPECT_EQ(Add("1\n"), "a.csv:1: without a header, `from` is a number from 1 to 1, found 2");
  EXPECT_EQ(Add("1;2020\n"), "a.csv:1: date: expected a value of type date, found \"2020\"");
}

// Returns a stream in Arrow's format with one column `a` of one row.
template <typename T>
std::string ArrowOf(interchange::arrow::TypeCode type, T value) {
  using namespace interchange::arrow;
  const Field field{.name = "a", .type = type, .bits = 8 * sizeof(T)};
  const ColumnBuffers buffers{0, {"", {reinterpret_cast<const char*>(&value), sizeof value}}};
  return SchemaMessage({&field, 1}) + BatchMessage(1, {&buffers, 1}) + std::string(kEndOfStream);
}

TEST_F(ImportRowsTest, AnArrowValueThatDoesNotFitIsNamed) {
  using interchange::arrow::TypeCode;
  constexpr int64_t kWholeMax = int64_t{1} << 53;
  Map("table = 't'\ndate = '2020.03.09'\n[[column]]\nname = 'a'\ntype = 'f'\n");
  EXPECT_EQ(Add(ArrowOf(TypeCode::kInt, -kWholeMax)), "");
  for (const int64_t value : {kNullLong, -kWholeMax - 1, kWholeMax + 1}) {
    EXPECT_EQ(
        Add(ArrowOf(TypeCode::kInt, value)),
        fmt::format("a.csv: row 0: a: expected a value of type float, found the number {}", value));
  }
  Map("table = 't'\ndate_column = 'a'\n[[column]]\nname = 'a'\ntype = 'd'\n");
  EXPECT_EQ(Add(ArrowOf(TypeCode::kDate, int32_t{18'330})), "");
  EXPECT_EQ(rows_->days().begin()->first, 18'330 - 10'957);
  EXPECT_EQ(Add(ArrowOf(TypeCode::kDate, std::numeric_limits<int32_t>::max())),
            "a.csv: row 0: date: not in the years 1 to 9999");
}

}  // namespace
}  // namespace tickstack::cli
