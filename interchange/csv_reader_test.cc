#include "interchange/csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/status.h"
#include "disk/partition_testing.h"

namespace tickstack::interchange {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Record = std::vector<std::string>;

class CsvReaderTest : public testing::Test {
 protected:
  // Returns all records, or the error as a last record.
  std::vector<Record> Read(std::string_view bytes, char delimiter = ',') {
    disk::PutFile(folder_ / "a.csv", bytes);
    auto reader = CsvReader::Open(folder_ / "a.csv", delimiter);
    EXPECT_TRUE(reader.ok()) << reader.status();
    std::vector<Record> records;
    for (;;) {
      const absl::StatusOr<bool> more = reader->Next();
      if (!more.ok()) {
        const std::string error(Message(more.status()));
        records.push_back({error.substr(error.rfind('/') + 1)});
        return records;
      }
      if (!*more) return records;
      records.emplace_back(reader->fields().begin(), reader->fields().end());
    }
  }

  disk::TemporaryFolder folder_;
};

TEST_F(CsvReaderTest, ReadsFieldsWithAndWithoutQuotes) {
  EXPECT_THAT(Read(""), IsEmpty());
  EXPECT_THAT(Read("a,b\n1,2\n"), ElementsAre(Record{"a", "b"}, Record{"1", "2"}));
  EXPECT_THAT(Read("a,b\r\n,\r\n\r\nx,y"),
              ElementsAre(Record{"a", "b"}, Record{"", ""}, Record{"x", "y"}));
  EXPECT_THAT(Read("\"a,\"\"b\"\"\n\",\"\"\n"), ElementsAre(Record{"a,\"b\"\n", ""}));
  EXPECT_THAT(Read("\"\"\"\""), ElementsAre(Record{"\""}));
  EXPECT_THAT(Read("\xef\xbb\xbf"
                   "a;b",
                   ';'),
              ElementsAre(Record{"a", "b"}));
}

TEST_F(CsvReaderTest, ABrokenRecordIsNamedByItsLine) {
  EXPECT_THAT(Read("a\n\"x\ny\"\nb\"c\"\n"),
              ElementsAre(Record{"a"}, Record{"x\ny"},
                          Record{"a.csv:4: a quote within a field that does not begin with one"}));
  EXPECT_THAT(Read("a\n\"x\"y,z\n"),
              ElementsAre(Record{"a"}, Record{"a.csv:2: bytes between a closing quote and the end "
                                              "of the field"}));
  EXPECT_THAT(Read("a\n\"x,y\n"),
              ElementsAre(Record{"a"}, Record{"a.csv:2: a quote that is not closed"}));
}

TEST_F(CsvReaderTest, BytesThatAreNotTextAreKept) {
  EXPECT_THAT(
      Read(std::string("a\0b,\0\r,\"\0\"\n", 11)),
      ElementsAre(Record{std::string("a\0b", 3), std::string("\0\r", 2), std::string(1, '\0')}));
  // Only the first byte order mark is one, and only before a whole file.
  EXPECT_THAT(Read("\xef\xbb\xbf\xef\xbb\xbf\n\xef\xbb\xbf"),
              ElementsAre(Record{"\xef\xbb\xbf"}, Record{"\xef\xbb\xbf"}));
  EXPECT_THAT(Read("\xef\xbb\xbf\"a\"\r\n"), ElementsAre(Record{"a"}));
  EXPECT_THAT(Read("\xef\xbb"), ElementsAre(Record{"\xef\xbb"}));
}

// Goal: a file without an end in sight takes no more memory than a record may have. Method: a
// sparse file of 4 GB, as it is, and after an open quote.
TEST_F(CsvReaderTest, ARecordOfTooManyBytesIsAnErrorBeforeItIsRead) {
  for (const std::string_view start : {"a\n", "a\n\"x\ny\",\"\"\""}) {
    disk::PutFile(folder_ / "a.csv", start);
    std::filesystem::resize_file(folder_ / "a.csv", uint64_t{4} << 30);
    auto reader = CsvReader::Open(folder_ / "a.csv", ',');
    ASSERT_TRUE(*reader->Next());
    EXPECT_THAT(Message(reader->Next().status()),
                testing::EndsWith("a.csv:2: a record of more than 67108864 bytes"));
  }
}

TEST_F(CsvReaderTest, ARecordOfTooManyFieldsIsAnError) {
  const std::string fields(CsvReader::kRecordFieldsMax - 1, ',');
  EXPECT_EQ(Read(fields + "\n").front().size(), CsvReader::kRecordFieldsMax);
  EXPECT_THAT(Read("a\n" + fields + ",\n"),
              ElementsAre(Record{"a"}, Record{"a.csv:2: a record of more than 65536 fields"}));
}

// Goal: a reader returns what a writer quoted, also across the pieces in which the file is read.
// Method: random records of difficult bytes, of some 5 MB.
TEST_F(CsvReaderTest, ReturnsWhatWasQuoted) {
  std::mt19937_64 rng(5);
  std::vector<Record> records;
  std::string file;
  while (file.size() < 5'000'000) {
    Record record(1 + rng() % 4);
    for (std::string& field : record) {
      for (size_t i = rng() % (rng() % 50 == 0 ? 20'000 : 8); i > 0; --i) {
        field += std::string_view("ab,\"\r\n\0;", 8)[rng() % 8];
      }
      file += &field == record.data() ? "\"" : ",\"";
      for (const char c : field) file += c == '"' ? "\"\"" : std::string(1, c);
      file += '"';
    }
    file += rng() % 2 == 0 ? "\n" : "\r\n";
    if (record != Record{""}) records.push_back(record);
  }
  EXPECT_EQ(Read(file) == records, true);
}

}  // namespace
}  // namespace tickstack::interchange
