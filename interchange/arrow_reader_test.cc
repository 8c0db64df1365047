#include "interchange/arrow_reader.h"

#include <flatbuffers/flatbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/partition_testing.h"
#include "interchange/arrow_message.h"
#include "interchange/arrow_stream.h"

// tests/e2e/export_test.py imports files of other programs.

namespace tickstack::interchange {
namespace {

using arrow::BodyBuffers;
using arrow::ColumnValues;
using arrow::Content;
using arrow::Dictionary;
using arrow::StreamBuffer;
using arrow::StreamColumn;
using arrow::StreamNode;
using testing::HasSubstr;

class ArrowReaderTest : public testing::Test {
 protected:
  std::string Put(std::string_view bytes) {
    disk::PutFile(folder_ / "a.arrow", bytes);
    return folder_ / "a.arrow";
  }
  // Returns the error of reading a file; empty if there is none.
  std::string ErrorOf(std::string_view bytes) {
    auto reader = ArrowReader::Open(Put(bytes));
    if (!reader.ok()) return std::string(Message(reader.status()));
    for (;;) {
      const absl::StatusOr<bool> more = reader->Next();
      if (!more.ok()) return std::string(Message(more.status()));
      if (!*more) return "";
    }
  }

  disk::TemporaryFolder folder_{disk::TemporaryFolder::InMemory()};
};

Value SomeTable() {
  std::vector<Value> columns;
  columns.push_back(Value::Vector<int64_t>(Type::kLong, std::vector<int64_t>{1, kNullLong, -3}));
  columns.push_back(Value::Symbols({"AAPL", "", "MSFT"}));
  columns.push_back(Value::Vector<uint8_t>(Type::kBoolean, std::vector<uint8_t>{1, 0, 1}));
  columns.push_back(Value::Vector<double>(Type::kFloat, std::vector<double>{0.5, -2, 1e300}));
  columns.push_back(
      Value::Vector<int64_t>(Type::kTimestamp, std::vector<int64_t>{0, kNullLong, -1}));
  return Value::Table({"j", "s", "b", "f", "p"}, std::move(columns));
}

TEST_F(ArrowReaderTest, ReadsWhatTheWriterWrote) {
  const std::string stream = *FormatArrow(SomeTable());
  EXPECT_TRUE(IsArrowFile(Put(stream)));
  auto reader = ArrowReader::Open(Put(stream));
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_EQ(reader->columns().size(), 5u);
  EXPECT_EQ(reader->columns()[4].content, Content::kTimestamp);
  EXPECT_EQ(reader->columns()[4].unit_ns, 1);
  ASSERT_TRUE(*reader->Next());
  ASSERT_EQ(reader->rows(), 3u);
  EXPECT_EQ(reader->values(0).IntegerAt(0), 1);
  EXPECT_TRUE(reader->values(0).IsNull(1));
  EXPECT_EQ(reader->values(0).IntegerAt(2), -3);
  EXPECT_EQ(reader->values(1).TextAt(2), "MSFT");
  EXPECT_TRUE(reader->values(1).IsNull(1));
  EXPECT_FALSE(reader->values(2).BooleanAt(1));
  EXPECT_EQ(reader->values(3).FloatAt(2), 1e300);
  EXPECT_EQ(reader->values(4).IntegerAt(2), 946'684'800'000'000'000 - 1);
  EXPECT_FALSE(*reader->Next());
  const std::string feather = std::string("ARROW1\0\0", 8) + stream;
  EXPECT_TRUE(IsArrowFile(Put(feather)));
  EXPECT_THAT(ErrorOf(feather), HasSubstr("Feather"));
  EXPECT_FALSE(IsArrowFile(Put("time,sym\n")));
}

TEST_F(ArrowReaderTest, AFileThatEndsEarlyIsAnError) {
  const std::string stream = *FormatArrow(SomeTable());
  EXPECT_EQ(ErrorOf(stream), "");
  for (size_t bytes = 0; bytes < stream.size(); ++bytes) {
    EXPECT_THAT(ErrorOf(stream.substr(0, bytes)), HasSubstr("a.arrow: byte ")) << bytes;
  }
}

TEST_F(ArrowReaderTest, AFileThatGoesOnAfterItsStreamIsAnError) {
  const std::string stream = *FormatArrow(SomeTable());
  EXPECT_THAT(ErrorOf(stream + stream), HasSubstr("bytes after the end of the stream"));
}

// Reads every value of a batch.
uint64_t SumOf(const ArrowReader& reader) {
  uint64_t sum = 0;
  for (size_t i = 0; i < reader.columns().size(); ++i) {
    const Content content = reader.columns()[i].content;
    const ColumnValues& values = reader.values(i);
    for (uint64_t row = 0; row < values.rows(); ++row) {
      if (values.IsNull(row)) continue;
      if (content == Content::kText) {
        for (const char c : values.TextAt(row)) sum += static_cast<uint8_t>(c);
      } else if (content == Content::kBoolean) {
        sum += values.BooleanAt(row) ? 1 : 0;
      } else if (content == Content::kFloat) {
        sum += values.FloatAt(row) > 0 ? 1 : 0;
      } else {
        sum += static_cast<uint64_t>(values.IntegerAt(row).value_or(0));
      }
    }
  }
  return sum;
}

// Goal: no byte of a file makes a reader leave it. Method: each byte is set to several values,
// under AddressSanitizer; fuzz/import_file_fuzz.cc goes further.
TEST_F(ArrowReaderTest, NoByteMakesItCrash) {
  const std::string stream = *FormatArrow(SomeTable());
  uint64_t sum = 0;
  for (size_t i = 0; i < stream.size(); ++i) {
    for (const char byte : {'\0', '\x7f', '\x80', '\xff'}) {
      std::string damaged = stream;
      damaged[i] = byte;
      auto reader = ArrowReader::Open(Put(damaged));
      if (!reader.ok()) continue;
      const absl::StatusOr<bool> more = reader->Next();
      if (more.ok() && *more) sum += SumOf(*reader);
    }
  }
  EXPECT_GT(sum, 0u);
}

// ---- Bodies

std::string ErrorIn(const absl::Status& status) { return std::string(Message(status)); }

TEST(ArrowBodyTest, ABufferIsWithinTheBodyAndAfterThePreviousOne) {
  const std::string body(64, 'x');
  const auto error = [&](std::vector<StreamBuffer> places) {
    BodyBuffers buffers(AsBytes(body), places);
    for (size_t i = 0; i + 1 < places.size(); ++i) EXPECT_TRUE(buffers.Take().ok());
    return ErrorIn(buffers.Take().status());
  };
  EXPECT_EQ(error({{0, 64}}), "");
  EXPECT_EQ(error({{64, 0}}), "");
  EXPECT_EQ(error({{0, 8}, {-1, 0}, {0, 0}, {8, 56}}), "");
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const StreamBuffer& place : std::vector<StreamBuffer>{{0, 65},
                                                             {1, 64},
                                                             {64, 1},
                                                             {65, 1},
                                                             {-1, 1},
                                                             {-1, 2},
                                                             {8, -8},
                                                             {kMax, kMax},
                                                             {kMax, 1},
                                                             {1, kMax},
                                                             {kMin, kMin},
                                                             {kMin, 1},
                                                             {kMin, kMax},
                                                             {8, kMin}}) {
    EXPECT_THAT(error({place}), HasSubstr("the body has 64")) << place.offset << " " << place.bytes;
  }
  EXPECT_THAT(error({{0, 16}, {8, 8}}), HasSubstr("the one before it ends at byte 16"));
  EXPECT_THAT(error({}), HasSubstr("only 0 buffers"));
}

TEST(ArrowBodyTest, ABufferHasWhatIsNeeded) {
  const std::string body(64, 'x');
  const std::vector<StreamBuffer> places{{0, 16}};
  const auto buffers = [&] { return BodyBuffers(AsBytes(body), places); };
  EXPECT_EQ(buffers().Take(3)->size(), 3u);
  EXPECT_EQ(buffers().TakeElements(2, 8)->size(), 16u);
  EXPECT_EQ(buffers().TakeBits(121)->size(), 16u);
  EXPECT_THAT(ErrorIn(buffers().TakeElements(3, 8).status()), HasSubstr("has 16 bytes"));
  EXPECT_THAT(ErrorIn(buffers().TakeBits(129).status()), HasSubstr("has 16 bytes"));
  EXPECT_FALSE(buffers().TakeElements(uint64_t{1} << 61, 8).ok());
  EXPECT_FALSE(buffers().TakeBits(UINT64_MAX).ok());
}

// ---- Columns

// Returns the error of taking a column with these buffers; empty if there is none.
std::string ColumnError(const StreamColumn& column, StreamNode node,
                        const std::vector<std::string>& contents,
                        const Dictionary* dictionary = nullptr) {
  std::string body;
  std::vector<StreamBuffer> places;
  for (const std::string& content : contents) {
    places.push_back({static_cast<int64_t>(body.size()), static_cast<int64_t>(content.size())});
    body += content;
  }
  BodyBuffers buffers(AsBytes(body), places);
  return ErrorIn(ColumnValues::Take(column, node, dictionary, buffers).status());
}

template <typename T>
std::string Raw(std::vector<T> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

TEST(ArrowColumnTest, TheOffsetsOfTextsAscendWithinTheirBytes) {
  StreamColumn column;
  column.content = Content::kText;
  column.offset_width = 4;
  const auto error = [&](std::vector<int32_t> offsets, uint64_t rows = 2) {
    return ColumnError(column, {rows, 0}, {"", Raw(offsets), "abcd"});
  };
  EXPECT_EQ(error({1, 1, 4}), "");
  EXPECT_EQ(error({}, 0), "");
  EXPECT_THAT(error({}), HasSubstr("has 0 bytes, expected 12"));
  EXPECT_THAT(error({0, 4}), HasSubstr("has 8 bytes, expected 12"));
  for (const std::vector<int32_t>& offsets : std::vector<std::vector<int32_t>>{
           {0, 2, 5}, {0, 5, 4}, {0, 3, 2}, {5, 5, 5}, {-1, 2, 4}, {0, -1, 4}, {-3, -2, -1}}) {
    EXPECT_THAT(error(offsets), HasSubstr("the text of row"));
  }
  column.offset_width = 8;
  EXPECT_THAT(ColumnError(column, {1, 0}, {"", Raw<int64_t>({-1, 4}), "abcd"}), HasSubstr("row 0"));
  EXPECT_THAT(ColumnError(column, {1, 0}, {"", Raw<int64_t>({1LL << 32, 1LL << 32}), "abcd"}),
              HasSubstr("row 0"));
}

TEST(ArrowColumnTest, NumbersOfTextsAreInTheDictionary) {
  StreamColumn column;
  column.content = Content::kText;
  column.has_dictionary = true;
  column.index_width = 8;
  Dictionary dictionary;
  dictionary.Add("a");
  dictionary.Add("");
  const auto error = [&](int64_t number) {
    return ColumnError(column, {1, 0}, {"", Raw<int64_t>({number})}, &dictionary);
  };
  EXPECT_EQ(error(1), "");
  EXPECT_THAT(error(2), HasSubstr("text 2 of a dictionary of 2"));
  EXPECT_THAT(error(-1), HasSubstr("text -1 of a dictionary of 2"));
  column.index_is_signed = false;
  EXPECT_THAT(error(-1), HasSubstr("of a dictionary of 2"));
  const std::string number = Raw<int64_t>({0});
  EXPECT_THAT(ColumnError(column, {1, 0}, {"", number}), HasSubstr("of a dictionary of 0"));
  EXPECT_EQ(ColumnError(column, {1, 1}, {std::string(1, '\0'), number}), "");
}

TEST(ArrowColumnTest, EachRowHasABitAndAValue) {
  StreamColumn column;
  column.content = Content::kInteger;
  column.width = 8;
  const std::string three = Raw<int64_t>({1, 2, 3});
  EXPECT_EQ(ColumnError(column, {3, 0}, {"", three}), "");
  EXPECT_EQ(ColumnError(column, {3, 2}, {"\x04", three}), "");
  EXPECT_THAT(ColumnError(column, {3, 1}, {"", three}), HasSubstr("has 0 bytes, expected 1"));
  EXPECT_THAT(ColumnError(column, {3, 1}, {"\x04", three}),
              HasSubstr("1 nulls, but its bits have 2"));
  EXPECT_THAT(ColumnError(column, {4, 0}, {"", three}), HasSubstr("has 24 bytes, expected 32"));
  EXPECT_THAT(ColumnError(column, {3, 0}, {""}), HasSubstr("only 1 buffers"));
  column.content = Content::kBoolean;
  EXPECT_EQ(ColumnError(column, {8, 0}, {"", "x"}), "");
  EXPECT_THAT(ColumnError(column, {9, 0}, {"", "x"}), HasSubstr("has 1 bytes, expected 2"));
}

// ---- Schemas

// Writes metadata that no writer would.
class SchemaBuilder {
 public:
  using TableOffset = flatbuffers::Offset<flatbuffers::Table>;
  using Name = flatbuffers::Offset<flatbuffers::String>;

  Name AddName(const std::string& name) { return builder_.CreateString(name); }
  void AddField(Name name, uint8_t type_code, bool has_dictionary = false) {
    const TableOffset type(builder_.EndTable(builder_.StartTable()));
    TableOffset dictionary;
    if (has_dictionary) dictionary = TableOffset(builder_.EndTable(builder_.StartTable()));
    const flatbuffers::uoffset_t start = builder_.StartTable();
    builder_.AddOffset(arrow::Slot(0), name);
    builder_.AddElement<uint8_t>(arrow::Slot(2), type_code, 0);
    builder_.AddOffset(arrow::Slot(3), type);
    if (has_dictionary) builder_.AddOffset(arrow::Slot(4), dictionary);
    fields_.emplace_back(builder_.EndTable(start));
  }
  // Returns the error of parsing the schema; empty if there is none.
  std::string Error() {
    const auto fields = builder_.CreateVector(fields_);
    flatbuffers::uoffset_t start = builder_.StartTable();
    builder_.AddOffset(arrow::Slot(1), fields);
    const TableOffset schema(builder_.EndTable(start));
    start = builder_.StartTable();
    builder_.AddElement<uint8_t>(arrow::Slot(1), arrow::kSchemaHeader, 0);
    builder_.AddOffset(arrow::Slot(2), schema);
    builder_.Finish(TableOffset(builder_.EndTable(start)));
    const std::span<const uint8_t> metadata(builder_.GetBufferPointer(), builder_.GetSize());
    return ErrorIn(arrow::ParseStreamMessage(std::as_bytes(metadata)).status());
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<TableOffset> fields_;
};

constexpr uint8_t kUtf8 = 5, kBool = 6, kLargeUtf8 = 20;

// Only headers of the kinds that are read used to be checked, but all were looked at: an offset of
// another kind of header led out of the buffer.
TEST(ArrowSchemaTest, AHeaderOutsideOfTheMetadataIsAnErrorForAnyKind) {
  constexpr uint16_t kHeaderPlace = 0x7ffc;
  for (int kind = 0; kind < 256; ++kind) {
    const std::vector<uint16_t> metadata{
        16,
        0,  // The root is at byte 16.
        10,
        8,
        0,
        4,
        kHeaderPlace,
        0,  // Places of the version, the kind and the header in it.
        12,
        0,  // The root: its places begin 12 bytes before it.
        static_cast<uint16_t>(kind),
        0  // The kind.
    };
    EXPECT_EQ(ErrorIn(arrow::ParseStreamMessage(std::as_bytes(std::span(metadata))).status()),
              "not a message of Arrow's");
  }
}

TEST(ArrowSchemaTest, NamesTakeNoMoreMemoryThanTheFileHas) {
  for (const bool is_shared : {false, true}) {
    SchemaBuilder schema;
    SchemaBuilder::Name name = schema.AddName(std::string(10'000, 'n'));
    for (int i = 0; i < 10; ++i) {
      if (!is_shared) name = schema.AddName(std::string(10'000, 'n'));
      schema.AddField(name, kBool);
    }
    EXPECT_EQ(schema.Error(), is_shared ? "names of more bytes than the metadata has" : "");
  }
}

TEST(ArrowSchemaTest, ColumnsShareADictionaryOfOneType) {
  for (const uint8_t second : {kUtf8, kLargeUtf8}) {
    SchemaBuilder schema;
    schema.AddField(schema.AddName("a"), kUtf8, true);
    schema.AddField(schema.AddName("b\n"), second, true);
    EXPECT_EQ(schema.Error(), second == kUtf8 ? ""
                                              : "column b\\x0a: its dictionary 0 has texts of "
                                                "another type in another column");
  }
}

}  // namespace
}  // namespace tickstack::interchange
