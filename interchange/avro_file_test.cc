#include "interchange/avro_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "table/utf8.h"

// tests/e2e/kafka_avro_test.py checks what another program's reader makes of such files.

namespace tickstack::interchange {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kDay = 86'400'000'000'000;
constexpr int64_t kUnixNs2000 = 946'684'800'000'000'000;

// Reads what Avro's specification says, in order.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}

  std::string_view Take(size_t count) {
    EXPECT_LE(count, rest_.size());
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  int64_t Whole() {
    uint64_t zigzag = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(Take(1).at(0));
      zigzag |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return static_cast<int64_t>((zigzag >> 1) ^ (0 - (zigzag & 1)));
  }
  std::string Text() { return std::string(Take(static_cast<size_t>(Whole()))); }
  template <typename T>
  T Raw() {
    T value{};
    const std::string_view bytes = Take(sizeof(T));
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  bool AtEnd() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

struct File {
  std::string schema;
  std::vector<int64_t> block_rows;
  std::string rows;  // The bytes of all blocks.
};

File Parse(std::string_view text) {
  File file;
  Bytes bytes(text);
  EXPECT_EQ(bytes.Take(4), std::string_view("Obj\x01", 4));
  EXPECT_EQ(bytes.Whole(), 2);
  EXPECT_EQ(bytes.Text(), "avro.schema");
  file.schema = bytes.Text();
  EXPECT_EQ(bytes.Text(), "avro.codec");
  EXPECT_EQ(bytes.Text(), "null");
  EXPECT_EQ(bytes.Whole(), 0);
  const std::string_view sync = bytes.Take(16);
  while (!bytes.AtEnd()) {
    file.block_rows.push_back(bytes.Whole());
    file.rows += bytes.Text();
    EXPECT_EQ(bytes.Take(16), sync);
  }
  return file;
}

Value TableOf(Value column) {
  std::vector<Value> columns;
  columns.push_back(std::move(column));
  return Value::Table({"a"}, std::move(columns));
}

// Returns the file of a table of one column.
File FileOf(Value column) {
  const absl::StatusOr<std::string> file = FormatAvro("t", TableOf(std::move(column)));
  EXPECT_TRUE(file.ok()) << file.status();
  return Parse(file.ok() ? *file : std::string());
}

// Returns the cells of a column whose field is a union of null and int or long.
std::vector<std::optional<int64_t>> Wholes(Value column) {
  const File file = FileOf(std::move(column));
  Bytes bytes(file.rows);
  std::vector<std::optional<int64_t>> cells;
  while (!bytes.AtEnd()) {
    cells.push_back(bytes.Whole() == 0 ? std::nullopt : std::optional(bytes.Whole()));
  }
  return cells;
}

std::vector<std::optional<std::string>> Texts(Value column) {
  const File file = FileOf(std::move(column));
  Bytes bytes(file.rows);
  std::vector<std::optional<std::string>> cells;
  while (!bytes.AtEnd()) {
    cells.push_back(bytes.Whole() == 0 ? std::nullopt : std::optional(bytes.Text()));
  }
  return cells;
}

template <typename T>
Value VectorOf(Type type, std::vector<T> items) {
  return Value::Vector<T>(type, items);
}

TEST(AvroFileTest, AFileIsASchemaAndBlocks) {
  for (const size_t rows : {size_t{0}, size_t{1}, size_t{65'536}, size_t{65'537}}) {
    const File file = FileOf(VectorOf(Type::kLong, std::vector<int64_t>(rows, 7)));
    EXPECT_EQ(file.schema,
              R"({"type":"record","name":"t","namespace":"tickstack","fields":[{"name":"a",)"
              R"("type":["null","long"],"default":null,"q":"long"}]})");
    int64_t total = 0;
    for (const int64_t block : file.block_rows) total += block;
    EXPECT_EQ(total, static_cast<int64_t>(rows));
    EXPECT_EQ(file.block_rows.size(), (rows + 65'535) / 65'536);
    EXPECT_EQ(file.rows.size(), 2 * rows);
  }
}

TEST(AvroFileTest, WholeNumbersKeepTheirValuesAndNulls) {
  EXPECT_THAT(Wholes(VectorOf<int16_t>(Type::kShort, {0, -1, 32'766, kNullShort, kInfinityShort})),
              ElementsAre(0, -1, 32'766, std::nullopt, kInfinityShort));
  EXPECT_THAT(Wholes(VectorOf<int32_t>(Type::kInt, {64, -65, kNullInt, kInfinityInt})),
              ElementsAre(64, -65, std::nullopt, kInfinityInt));
  EXPECT_THAT(Wholes(VectorOf<int64_t>(Type::kLong, {1, kNullLong, kInfinityLong, -kInfinityLong})),
              ElementsAre(1, std::nullopt, kInfinityLong, -kInfinityLong));
}

TEST(AvroFileTest, TimesAreNumbersOfAStatedUnit) {
  EXPECT_THAT(Wholes(VectorOf<int64_t>(Type::kTimestamp,
                                       {1, kNullLong, kInfinityLong, -kInfinityLong,
                                        std::numeric_limits<int64_t>::max() - kUnixNs2000 + 1})),
              ElementsAre(kUnixNs2000 + 1, std::nullopt, std::nullopt, std::nullopt, std::nullopt));
  EXPECT_THAT(Wholes(VectorOf<double>(Type::kDatetime, {0.5, std::nan("")})),
              ElementsAre(kUnixNs2000 / 1'000'000 + 43'200'000, std::nullopt));
  EXPECT_THAT(Wholes(VectorOf<int32_t>(Type::kDate, {0, kNullInt, kInfinityInt})),
              ElementsAre(10'957, std::nullopt, std::nullopt));
  EXPECT_THAT(Wholes(VectorOf<int32_t>(Type::kMonth, {1, kNullInt})),
              ElementsAre(10'957 + 31, std::nullopt));
  EXPECT_THAT(Wholes(VectorOf<int64_t>(Type::kTimespan, {-1, 2 * kDay, kNullLong, kInfinityLong})),
              ElementsAre(-1, 2 * kDay, std::nullopt, std::nullopt));
  for (const Type type : {Type::kMinute, Type::kSecond, Type::kTime}) {
    EXPECT_THAT(Wholes(VectorOf<int32_t>(type, {-5, 90'000'000, kNullInt, -kInfinityInt})),
                ElementsAre(-5, 90'000'000, std::nullopt, std::nullopt));
  }
}

TEST(AvroFileTest, FloatsKeepTheirBits) {
  const double infinity = std::numeric_limits<double>::infinity();
  const File doubles = FileOf(VectorOf<double>(Type::kFloat, {1.5, std::nan(""), -infinity, -0.0}));
  Bytes bytes(doubles.rows);
  EXPECT_EQ(bytes.Whole(), 1);
  EXPECT_EQ(bytes.Raw<double>(), 1.5);
  EXPECT_EQ(bytes.Whole(), 0);
  EXPECT_EQ(bytes.Whole(), 1);
  EXPECT_EQ(bytes.Raw<double>(), -infinity);
  EXPECT_EQ(bytes.Whole(), 1);
  EXPECT_TRUE(std::signbit(bytes.Raw<double>()));
  EXPECT_TRUE(bytes.AtEnd());
  const File reals = FileOf(VectorOf<float>(Type::kReal, {0.25F, std::nanf("")}));
  Bytes real(reals.rows);
  EXPECT_EQ(real.Whole(), 1);
  EXPECT_EQ(real.Raw<float>(), 0.25F);
  EXPECT_EQ(real.Whole(), 0);
}

TEST(AvroFileTest, TypesWithoutNullsAreNoUnions) {
  const File booleans = FileOf(VectorOf<uint8_t>(Type::kBoolean, {0, 1}));
  EXPECT_EQ(booleans.rows, std::string_view("\0\1", 2));
  EXPECT_THAT(booleans.schema, HasSubstr(R"("type":"boolean","q")"));
  const File numbers = FileOf(VectorOf<uint8_t>(Type::kByte, {0, 255}));
  Bytes number(numbers.rows);
  EXPECT_EQ(number.Whole(), 0);
  EXPECT_EQ(number.Whole(), 255);
  const File chars = FileOf(VectorOf<char>(Type::kChar, {'x', ' '}));
  Bytes text(chars.rows);
  EXPECT_EQ(text.Text(), "x");
  EXPECT_EQ(text.Text(), " ");
}

TEST(AvroFileTest, GuidsAreTexts) {
  std::vector<std::byte> bytes(32);
  for (size_t i = 0; i < 16; ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_THAT(Texts(Value::Vector(Type::kGuid, ByteBuffer(bytes))),
              ElementsAre("00010203-0405-0607-0809-0a0b0c0d0e0f", std::nullopt));
}

TEST(AvroFileTest, EmptySymbolsAreNullAndEmptyStringsAreNot) {
  EXPECT_THAT(Texts(Value::Symbols({"IBM", "", "\xc3\xa9"})),
              ElementsAre("IBM", std::nullopt, "\xc3\xa9"));
  EXPECT_THAT(Texts(Value::List({Value::String("two words"), Value::String(""), Value()})),
              ElementsAre("two words", "", std::nullopt));
}

TEST(AvroFileTest, BytesThatAreNoUtf8StayDifferent) {
  // The first two would be equal with U+FFFD. The third is what the first becomes.
  const std::vector<std::string> raw = {"A\xe9", "A\xff", "A\xf4\x8f\xbf\xa9", "\xe2\x82",
                                        "\xf4\x8f\xbd\xbf"};
  SymbolVector names;
  for (const std::string& text : raw) names.push_back(text);
  const std::vector<std::optional<std::string>> texts = Texts(Value::Symbols(std::move(names)));
  ASSERT_EQ(texts.size(), raw.size());
  EXPECT_EQ(texts[0], "A\xf4\x8f\xbf\xa9");  // U+10FFE9.
  EXPECT_EQ(texts[1], "A\xf4\x8f\xbf\xbf");
  EXPECT_EQ(texts[4], raw[4]);  // U+10FF7F is no escape.
  for (size_t i = 0; i < texts.size(); ++i) {
    std::string back;
    for (std::string_view rest = *texts[i]; !rest.empty();) {
      const size_t length = Utf8Length(rest);
      ASSERT_GT(length, 0U);
      const std::string_view character = rest.substr(0, length);
      if (character.starts_with("\xf4\x8f") && character[2] >= '\xbe') {
        back += static_cast<char>(((character[2] & 3) << 6) | (character[3] & 0x3f));
      } else {
        back += character;
      }
      rest.remove_prefix(length);
    }
    EXPECT_EQ(back, raw[i]);
  }
}

TEST(AvroFileTest, WhatItCannotHoldIsNamed) {
  const auto error = [](std::string_view name, const Value& value) {
    const absl::StatusOr<std::string> file = FormatAvro(name, value);
    return file.ok() ? "" : std::string(Message(file.status()));
  };
  EXPECT_THAT(error("t", Value::Long(1)), HasSubstr("expected a table"));
  EXPECT_THAT(error("t", TableOf(Value::List({Value::String("x"), Value::Longs({1, 2})}))),
              HasSubstr("column a has lists, row 1"));
  EXPECT_THAT(error("a b", TableOf(Value::Longs({1}))), HasSubstr("a b: not a name"));
  EXPECT_THAT(error("t", Value::Table({"a", "a"}, {Value::Longs({1}), Value::Longs({2})})),
              HasSubstr("column a"));
  EXPECT_THAT(error("t", TableOf(Value::Longs({}))), IsEmpty());
}

}  // namespace
}  // namespace tickstack::interchange
