#include "disk/arrow_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/status.h"
#include "disk/arrow_stream.h"
#include "disk/partition_testing.h"

// tests/e2e/export_test.py imports files of other programs.

namespace tickstack::disk {
namespace {

using testing::HasSubstr;

class ArrowReaderTest : public testing::Test {
 protected:
  std::string Put(std::string_view bytes) {
    PutFile(folder_ / "a.arrow", bytes);
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

  TemporaryFolder folder_{TemporaryFolder::InMemory()};
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
  EXPECT_EQ(reader->columns()[4].content, arrow::Content::kTimestamp);
  EXPECT_EQ(reader->columns()[4].unit_ns, 1);
  ASSERT_TRUE(*reader->Next());
  ASSERT_EQ(reader->rows(), 3u);
  EXPECT_EQ(reader->IntegerAt(0, 0), 1);
  EXPECT_TRUE(reader->IsNull(0, 1));
  EXPECT_EQ(reader->IntegerAt(0, 2), -3);
  EXPECT_EQ(reader->TextAt(1, 2), "MSFT");
  EXPECT_TRUE(reader->IsNull(1, 1));
  EXPECT_FALSE(reader->BooleanAt(2, 1));
  EXPECT_EQ(reader->FloatAt(3, 2), 1e300);
  EXPECT_EQ(reader->IntegerAt(4, 2), 946'684'800'000'000'000 - 1);
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

// Goal: no byte of a file makes a reader leave it. Method: each byte is set to several values,
// under AddressSanitizer; fuzz/import_file_fuzz.cc goes further.
TEST_F(ArrowReaderTest, NoByteMakesItCrash) {
  const std::string stream = *FormatArrow(SomeTable());
  for (size_t i = 0; i < stream.size(); ++i) {
    for (const char byte : {'\0', '\x7f', '\x80', '\xff'}) {
      std::string damaged = stream;
      damaged[i] = byte;
      auto reader = ArrowReader::Open(Put(damaged));
      if (!reader.ok()) continue;
      const absl::StatusOr<bool> more = reader->Next();
      if (!more.ok() || !*more) continue;
      for (uint64_t row = 0; row < reader->rows(); ++row) {
        if (reader->columns().size() < 2 || reader->columns()[1].content != arrow::Content::kText) {
          continue;
        }
        EXPECT_LE(reader->TextAt(1, row).size(), stream.size());
      }
    }
  }
}

}  // namespace
}  // namespace tickstack::disk
