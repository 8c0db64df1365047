#include "disk/database_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/kdb_file_testing.h"
#include "disk/parted_index_writer.h"
#include "tests/support/fixtures.h"

namespace tickstack::disk {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DatabaseCheckTest : public testing::Test {
 protected:
  // Three symbols, parted; times ascend for each. Every form of column.
  DatabaseCheckTest() {
    files_.Write("sym", NamesFile({"AAPL", "IBM", "MSFT"}));
    files_.Write(table_ + ".d", NamesFile({"sym", "time", "size", "text", "old", "name", "src"}));
    files_.Write(table_ + "sym", Parted({0, 0, 2, 1}));
    files_.Write(table_ + "time", VectorFile<int64_t>(12, {10, 20, 5, 6}));
    files_.Write(table_ + "size", VectorFile<int32_t>(6, {1, 2, 2, 9}, 1));
    files_.Write(table_ + "text",
                 PageHeader("", 1, 77, 0, 4) + ElementBytes<int64_t>({0, 4, 4, 7}));
    files_.Write(table_ + "text#",
                 PageHeader("", 0, 4, 0, 0) + "\x89\x02hi\x89\x01x\x89" + std::string(1, '\0'));
    files_.Write(table_ + "old", VectorFile<int64_t>(87, {1, 1, 2, 4}));
    files_.Write(table_ + "old#", "abcd");
    files_.Write(table_ + "name", NamesFile({"a", "b", "c", "d"}));
    files_.Write(table_ + "src", Enum32File("sym", {0, 1, INT32_MIN, 2}));
  }

  static std::string Parted(const std::vector<int64_t>& positions) {
    std::vector<int64_t> keys, starts;
    for (size_t row = 0; row < positions.size(); ++row) {
      if (!keys.empty() && keys.back() == positions[row]) continue;
      keys.push_back(positions[row]);
      starts.push_back(static_cast<int64_t>(row));
    }
    const ByteBuffer index = PartedIndexBytes(keys, starts, static_cast<int64_t>(positions.size()));
    return Enum64File("sym", positions, 3) + std::string(AsText(index.span()));
  }

  DatabaseCheck Check() {
    WorkerPool workers(2);
    absl::StatusOr<DatabaseCheck> check = CheckDatabase(files_.root(), workers);
    EXPECT_TRUE(check.ok()) << check.status();
    return *std::move(check);
  }
  // Returns `file@byte: what` for all findings; files in the table's folder by name.
  std::vector<std::string> Findings() {
    std::vector<std::string> texts;
    for (const Finding& finding : Check().findings) {
      std::string name = finding.path.substr(files_.root().size() + 1);
      if (name.starts_with(table_)) name.erase(0, table_.size());
      texts.push_back(name + (finding.byte ? fmt::format("@{}", *finding.byte) : "") + ": " +
                      finding.what);
    }
    return texts;
  }
  // Removes the column that has a warning.
  void RemovePlainSymbols() {
    files_.Write(table_ + ".d", NamesFile({"sym", "time", "size", "text", "old", "src"}));
    std::filesystem::remove(files_.PathOf(table_ + "name"));
  }
  // Changes a byte of a file of the table.
  void Set(const std::string& name, size_t at, char byte) {
    std::fstream file(files_.PathOf(table_ + name),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at)).put(byte);
  }

  const std::string table_ = "2024.01.02/trade/";
  KdbFiles files_;
};

TEST_F(DatabaseCheckTest, ASoundDatabaseHasNoFindings) {
  EXPECT_THAT(Findings(), IsEmpty());
  const DatabaseCheck check = Check();
  EXPECT_EQ(check.partitions, 1u);
  EXPECT_EQ(check.tables, 1u);
  EXPECT_EQ(check.columns, 7u);
  EXPECT_EQ(check.rows, 4u);
  EXPECT_GT(check.disk_bytes, 2 * 4096u);
}

TEST_F(DatabaseCheckTest, NamesHeadsThatCannotBe) {
  files_.Write(table_ + "time", "nonsense");
  Set("size", 8, 77);
  EXPECT_THAT(Findings(), ElementsAre("size@8: 77 rows, but the file has room for 4",
                                      "time@0: 6e 6f, expected the first bytes of a kdb+ file"));
}

TEST_F(DatabaseCheckTest, NamesColumnsOfOtherCountsAndTornAppends) {
  files_.Write(table_ + "time", VectorFile<int64_t>(12, {10, 20, 5}) + "torn");
  EXPECT_THAT(Findings(),
              ElementsAre("time: 3 rows, column sym has 4",
                          "time@40: 4 bytes behind the last row, where a row has 8: part of an "
                          "append"));
}

TEST_F(DatabaseCheckTest, WarnsOfSymbolsThatAreNotEnumerated) {
  const DatabaseCheck check = Check();
  ASSERT_EQ(check.warnings.size(), 1u);
  EXPECT_EQ(check.warnings[0].path, files_.PathOf(table_ + "name"));
  EXPECT_THAT(check.warnings[0].what, testing::HasSubstr("symbols that are not enumerated"));
}

TEST_F(DatabaseCheckTest, NamesAStoredColumnOfThePartitions) {
  files_.Write(table_ + ".d", NamesFile({"date", "time"}));
  files_.Write(table_ + "date", VectorFile<int32_t>(14, {1, 2, 3, 4}));
  for (const char* rest : {"sym", "size", "text", "text#", "old", "old#", "name", "src"}) {
    std::filesystem::remove(files_.PathOf(table_ + rest));
  }
  EXPECT_THAT(Findings(),
              ElementsAre(testing::HasSubstr("date: a column date, which the partitions are named "
                                             "for: queries show the partition's value")));
}

TEST_F(DatabaseCheckTest, NamesFilesBesideTheTablesOfAPartition) {
  files_.Write("2024.01.02/flat", NamesFile({"a", "b"}));
  files_.Write("2024.01.02/flat.vector", VectorFile<int64_t>(7, {1, 2}));
  files_.Write("2024.01.02/notes.txt", "read me");
  files_.Write("2024.01.02/.hidden", NamesFile({"a"}));
  EXPECT_THAT(Findings(),
              ElementsAre("2024.01.02/flat: a file, expected only folders of tables: queries do "
                          "not see it",
                          testing::HasSubstr("2024.01.02/flat.vector: a file")));
  EXPECT_THAT(Check().warnings, testing::Contains(testing::Field(
                                    &Finding::path, files_.PathOf("2024.01.02/notes.txt"))));
}

TEST_F(DatabaseCheckTest, NamesColumnsThatAreMissing) {
  std::filesystem::remove(files_.PathOf(table_ + "size"));
  std::filesystem::remove(files_.PathOf(table_ + "old#"));
  EXPECT_THAT(Findings(), ElementsAre("old: " + files_.PathOf(table_ + "old#") +
                                          ": open: No such file or directory",
                                      "size: open: No such file or directory"));
  files_.Write(table_ + ".d", "nonsense");
  EXPECT_THAT(Findings(), testing::Contains(".d@0: expected a symbol vector (ff 01 0b)"));
}

TEST_F(DatabaseCheckTest, NamesAPositionOutsideOfItsDomain) {
  Set("src", 24 + 4, 3);
  EXPECT_THAT(Findings(), ElementsAre("src@28: row 1 has position 3, domain sym has 3 names"));
}

TEST_F(DatabaseCheckTest, NamesARowThatBreaksAClaimedOrder) {
  Set("size", 16 + 4 * 3, 1);
  EXPECT_THAT(Findings(),
              ElementsAre("size@28: row 3 is less than the row before, in a column that "
                          "claims to be sorted"));
}

TEST_F(DatabaseCheckTest, AnEnumMayBeSortedByNameOrByPosition) {
  files_.Write(table_ + "src", Enum64File("sym", {0, 1, 1, 2}, 1));
  EXPECT_THAT(Findings(), IsEmpty());
  files_.Write("sym", NamesFile({"MSFT", "IBM", "AAPL"}));
  files_.Write(table_ + "src", Enum64File("sym", {2, 2, 1, 0}, 1));
  EXPECT_THAT(Findings(), IsEmpty());
  files_.Write(table_ + "src", Enum64File("sym", {2, 0, 1, 0}, 1));
  EXPECT_THAT(Findings(), ElementsAre("src@4112: row 2 is less than a row before, in a column that "
                                      "claims to be sorted"));
}

TEST_F(DatabaseCheckTest, NamesAPartedSymbolThatComesBack) {
  files_.Write(table_ + "sym", Parted({0, 2, 0, 0}));
  EXPECT_THAT(Findings(),
              ElementsAre("sym@4112: row 2 has position 0 again, in a column that claims "
                          "to be parted"));
}

// Goal: every meaningful byte of the index is checked. Method: change each byte, and list those
// that may have any value: the two undefined words, the unused key, and bytes with kdb+'s own
// conventions (size classes, marks, zeros).
TEST_F(DatabaseCheckTest, SeesEveryChangeOfTheIndex) {
  const std::string whole = Parted({0, 0, 2, 1});
  const size_t begin =
      4096 + 4 * 8;  // junk 8, header 16, keys 32, junk 8, slots 64, header 16, starts 32
  size_t seen = 0, unseen = 0;
  for (size_t at = begin; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] ^= 0x10;
    files_.Write(table_ + "sym", changed);
    Findings().empty() ? ++unseen : ++seen;
  }
  EXPECT_EQ(seen, 8u + 24 + 64 + 8 + 32);
  EXPECT_EQ(unseen, 8u + 8 + 8 + 8 + 8);
  files_.Write(table_ + "sym", whole.substr(0, whole.size() - 8));
  EXPECT_THAT(Findings(), ElementsAre("sym@4128: 168 bytes of index, expected 176 for 3 symbols"));
  files_.Write(table_ + "sym", Enum64File("sym", {0, 0, 2, 1}, 3));
  EXPECT_THAT(Findings(), ElementsAre("sym@4128: 0 bytes of index, expected 176 for 3 symbols"));
}

TEST_F(DatabaseCheckTest, NamesATimeThatGoesBackWithinASymbol) {
  RemovePlainSymbols();
  files_.Write(table_ + "time", VectorFile<int64_t>(12, {10, 9, 5, 6}));
  EXPECT_THAT(Findings(), IsEmpty());
  ASSERT_EQ(Check().warnings.size(), 1u);
  EXPECT_EQ(Check().warnings[0].what,
            "row 1 is earlier than the row before of the same symbol, and as-of joins expect "
            "ascending times");
}

// Goal: every flipped bit of a `.d` is detected. Method: flip each of them, with another partition
// that shows the table's columns.
TEST_F(DatabaseCheckTest, SeesEveryChangedBitOfTheColumnList) {
  std::filesystem::remove_all(files_.PathOf("2024.01.02"));
  for (const std::string day : {"2024.01.01/", "2024.01.03/"}) {
    files_.Write(day + "trade/.d", NamesFile({"size", "time"}));
    files_.Write(day + "trade/size", VectorFile<int32_t>(6, {1, 2}));
    files_.Write(day + "trade/time", VectorFile<int64_t>(12, {1, 2}));
  }
  for (const std::string day : {"2024.01.01/", "2024.01.03/"}) {
    const std::string whole = NamesFile({"size", "time"});
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      // Two counts are valid: 0, which kdb+ writes since 2021, and the number of names.
      const auto count = LoadLittle<int32_t>(AsBytes(flipped).data() + 4);
      if (bit / 8 >= 4 && bit / 8 < 8 && (count == 0 || count == 2)) continue;
      files_.Write(day + "trade/.d", flipped);
      const DatabaseCheck check = Check();
      EXPECT_FALSE(check.is_sound() && check.warnings.empty()) << day << " bit " << bit;
    }
    files_.Write(day + "trade/.d", whole);
  }
  EXPECT_TRUE(Check().is_sound());
  EXPECT_THAT(Check().warnings, IsEmpty());
}

TEST_F(DatabaseCheckTest, NamesAColumnThatOnePartitionsListLeavesOut) {
  files_.Write("2024.01.01/trade/.d", NamesFile({"size", "time"}));
  files_.Write("2024.01.01/trade/size", VectorFile<int32_t>(6, {1, 2}));
  files_.Write("2024.01.01/trade/time", VectorFile<int64_t>(12, {1, 2}));
  RemovePlainSymbols();
  files_.Write(table_ + ".d", NamesFile({"sym", "time", "text", "old", "src"}));
  EXPECT_THAT(Findings(), ElementsAre(".d: does not name column size, whose file is there, and "
                                      "which other partitions have"));
  files_.Write(table_ + "notes", "anything");
  EXPECT_EQ(Check().warnings.at(0).what, "a file that .d does not name");
}

TEST_F(DatabaseCheckTest, NamesATableThatALaterPartitionLacks) {
  const auto add = [&](const std::string& directory) {
    files_.Write(directory + "/.d", NamesFile({"time"}));
    files_.Write(directory + "/time", VectorFile<int64_t>(12, {1, 2}));
  };
  std::filesystem::remove_all(files_.PathOf(table_));
  add("2024.01.02/trade");
  add("2024.01.01/quote");
  add("2024.01.03/quote");
  EXPECT_THAT(Findings(),
              ElementsAre("2024.01.02/quote: no such table, which an older partition has",
                          "2024.01.03/trade: no such table in the newest partition, so queries do "
                          "not see the older ones"));
  add("2024.01.02/quote");
  add("2024.01.03/trade");
  EXPECT_THAT(Findings(), IsEmpty());  // 2024.01.01 is older than the first trades.
}

TEST_F(DatabaseCheckTest, NamesDamagedNestedRows) {
  Set("text#", 4096, '\x01');
  files_.Write(table_ + "old#", "abcde");
  EXPECT_THAT(Findings(),
              ElementsAre("old@40: the last row ends at element 4, " + files_.PathOf(table_) +
                              "old# has 5 bytes of elements of 1",
                          "text@4096: row 0: " + files_.PathOf(table_) +
                              "text#: byte 4096: an item of type 01, expected a type of kdb+"));
}

TEST_F(DatabaseCheckTest, NamesDamagedBlocksOfCompressedColumns) {
  // One stored block of 56 bytes that says it is gzip.
  const std::string image = VectorFile<int64_t>(12, {10, 20, 5, 6});
  files_.Write(table_ + "time",
               "kxzipped" + image + LittleBytes(uint32_t{3}) + std::string("\2\6\0\0", 4) +
                   LittleBytes(static_cast<int64_t>(image.size())) +
                   LittleBytes(static_cast<int64_t>(8 + image.size())) +
                   LittleBytes(int64_t{4096}) + LittleBytes(static_cast<uint32_t>(image.size())) +
                   LittleBytes(uint32_t{2}) + LittleBytes(int64_t{1}));
  EXPECT_THAT(Findings(),
              ElementsAre("time@8: block 0: a gzip block of 48 bytes that does not hold "
                          "the 48 bytes it should"));
}

TEST_F(DatabaseCheckTest, NamesWhatIsWrongInTheRoot) {
  files_.Write("sym", NamesFile({"AAPL", "IBM", "MSFT", "IBM"}) + "torn");
  files_.Write("flat", std::string("\xff\x01\x62\x00\x63", 5));
  files_.Write("notes.txt", "some text of somebody");
  EXPECT_THAT(Findings(),
              ElementsAre("flat@5: expected a value that ends within the file",
                          "notes.txt: no file of kdb+", "sym: name 'IBM' is there 2 times",
                          "sym: the last 4 bytes are no whole name: left out"));
  files_.Write("par.txt", "nowhere\n");
  EXPECT_THAT(Findings(),
              testing::Contains("par.txt: " + files_.PathOf("nowhere") + ": no such directory"));
}

TEST_F(DatabaseCheckTest, NamesLinksThatLeadNowhere) {
  const auto link = [&](const std::string& name) {
    std::filesystem::create_directory_symlink("/unmounted/disk", files_.PathOf(name));
  };
  link("2024.01.01");
  link("2024.01.02/quote");
  const std::string what = ": a link that leads nowhere: No such file or directory";
  EXPECT_THAT(Findings(), ElementsAre("2024.01.01" + what, "2024.01.02/quote" + what,
                                      "2024.01.02/quote: no table: no partition has a .d for it "
                                      "that can be read"));
}

TEST_F(DatabaseCheckTest, NamesColumnsOfOtherTypesThanTheNewest) {
  for (const std::string day : {"2023.12.31/", "2024.01.01/"}) {
    files_.Write(day + "trade/.d", NamesFile({"size", "time"}));
    files_.Write(day + "trade/size", VectorFile<int32_t>(6, {1, 2}));
    files_.Write(day + "trade/time", VectorFile<int64_t>(12, {1, 2}));
  }
  EXPECT_THAT(Findings(), IsEmpty());
  files_.Write("2024.01.01/trade/size", VectorFile<int64_t>(7, {1, 2}));
  files_.Write("2024.01.02/other/.d", NamesFile({"size"}));
  files_.Write("2024.01.02/other/size", VectorFile<int64_t>(7, {1, 2}));
  EXPECT_THAT(Findings(), ElementsAre("2024.01.01/trade/size: a column of long, expected int as in "
                                      "the newest partition"));
}

// Goal: a column that queries have lost, since the newest partition lacks it, is named once. One
// that older partitions lack is not named. Method: two older partitions with another column.
TEST_F(DatabaseCheckTest, NamesColumnsThatTheNewestPartitionLacks) {
  for (const std::string day : {"2023.12.31/", "2024.01.01/"}) {
    files_.Write(day + "trade/.d", NamesFile({"size", "ex"}));
    files_.Write(day + "trade/size", VectorFile<int32_t>(6, {1, 2}));
    files_.Write(day + "trade/ex", VectorFile<int64_t>(7, {1, 2}));
  }
  EXPECT_THAT(Findings(), ElementsAre("2024.01.01/trade/ex: a column that the newest partition of "
                                      "trade lacks: queries do not find it in any partition"));
  // The newest partition has the column, in a file that cannot be read.
  files_.Write(table_ + ".d",
               NamesFile({"sym", "time", "size", "text", "old", "name", "src", "ex"}));
  files_.Write(table_ + "ex", "nonsense");
  EXPECT_THAT(Findings(), ElementsAre(testing::StartsWith("ex@0: ")));
  files_.Write(table_ + "ex", VectorFile<int64_t>(7, {1, 2, 3, 4}));
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(DatabaseCheckTest, NamesWhatMovesAndDoubledSegmentsLeft) {
  files_.Write("s1/moved.2024.01.05$/trade/.d", NamesFile({}));
  files_.Write("par.txt", "s1\n./s1\n");
  std::filesystem::remove_all(files_.PathOf("2024.01.02"));
  EXPECT_THAT(Findings(), ElementsAre("par.txt: line 1 (s1) and line 2 (./s1) are the same "
                                      "directory, whose rows would count twice",
                                      "s1/moved.2024.01.05$: of a move between segments that runs, "
                                      "or that died: `tickstack hdb balance --move` ends it"));
}

TEST_F(DatabaseCheckTest, BoundsWhatItSaysOfOneColumn) {
  std::vector<int64_t> positions(4);
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = 100 + static_cast<int64_t>(i);
  std::vector<int64_t> many(50);
  for (size_t i = 0; i < many.size(); ++i) many[i] = 100 + static_cast<int64_t>(i);
  files_.Write(table_ + "src", Enum64File("sym", many));
  const DatabaseCheck check = Check();
  EXPECT_EQ(check.findings.size(), ColumnCheck::kFindingsMax + 1);  // And the count of rows.
  EXPECT_EQ(check.findings_left_off, 40u);
}

// Files that kdb+ wrote have no findings; two of its tables have times in order of arrival, with
// late ones.
TEST_F(DatabaseCheckTest, FindsNothingWrongInWholeFixtures) {
  TS_REQUIRE_FIXTURE(root, "kdb");
  WorkerPool workers(2);
  std::vector<std::string> warnings;
  for (const std::string name :
       {"DataIntellectTech-TorQ-Finance-Starter-Pack/hdb", "SirCsimbok-kdb-tick/hdb",
        "DataIntellectTech-TorQ-Crypto/hdb/database", "DunnyDon-advancedKdb/tick/hdb",
        "McSqwurd-kdbT/tick/db", "nikhouri-station/tick/db"}) {
    const absl::StatusOr<DatabaseCheck> check = CheckDatabase((root / name).string(), workers);
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_GT(check->columns, 0u);
    EXPECT_TRUE(check->is_sound()) << check->findings.front().path;
    for (const Finding& warning : check->warnings) {
      warnings.push_back(warning.path.substr(root.string().size() + 1) + ": " + warning.what);
    }
  }
  EXPECT_THAT(
      warnings,
      ElementsAre(testing::StartsWith("DunnyDon-advancedKdb/tick/hdb/bid/time: row 88 is "
                                      "earlier than the row before of the same symbol"),
                  testing::StartsWith("nikhouri-station/tick/db/2021.10.14/obs/time: row 115 "
                                      "is earlier than the row before of the same symbol")));
}

}  // namespace
}  // namespace tickstack::disk
