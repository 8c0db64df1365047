#include "disk/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/mapping.h"
#include "base/status.h"
#include "disk/kdb_file_testing.h"
#include "disk/open_tables.h"

namespace tickstack::disk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DatabaseTest : public testing::Test {
 protected:
  // Writes a trade table of `sizes.size()` rows, with further columns of the same length.
  void WriteTrade(const std::string& partition, const std::vector<int64_t>& sizes,
                  const std::vector<std::string>& more = {}) {
    const std::string table = partition + "/trade/";
    std::string names = NamesFile({"sym", "size"});
    for (const std::string& column : more) {
      names += column + '\0';
      files_.Write(table + column, VectorFile<int64_t>(7, sizes));
    }
    files_.Write(table + ".d", names);
    files_.Write(table + "sym", Enum64File("sym", std::vector<int64_t>(sizes.size(), 1)));
    files_.Write(table + "size", VectorFile<int64_t>(7, sizes));
  }
  std::shared_ptr<const Database> Open() {
    const auto database = Database::Open(files_.root());
    EXPECT_TRUE(database.ok()) << database.status();
    return *database;
  }
  std::vector<std::string> ProblemsOf(const Database& database) {
    std::vector<std::string> problems(database.problems().begin(), database.problems().end());
    for (std::string& problem : problems) problem.erase(0, files_.root().size() + 1);
    return problems;
  }

  KdbFiles files_;
};

TEST_F(DatabaseTest, OfAnEmptyDirectoryIsEmpty) {
  const auto database = Open();
  EXPECT_THAT(database->partitions(), IsEmpty());
  EXPECT_THAT(database->problems(), IsEmpty());
  EXPECT_EQ(Database::Open(files_.PathOf("nothing")).status().code(), absl::StatusCode::kNotFound);
}

// Goal: columns without holders are closed when there are no mappings left, and held columns stay.
// Method: three days of two columns, and five mappings for them.
TEST_F(DatabaseTest, ColumnsThatNobodyHoldsMakeRoomForOthers) {
  files_.Write("sym", NamesFile({"AAPL", "MSFT"}));
  for (const char* day : {"2024.01.01", "2024.01.02", "2024.01.03"}) WriteTrade(day, {1, 2});
  const auto database = Open();
  const auto day = [&](size_t number) { return *database->FindPartitioned("trade")->In(number); };
  const auto open = [&](size_t number, size_t column) { return *day(number)->Column(column); };
  const uint64_t let_go = OpenTables::Instance().columns_let_go();
  ASSERT_EQ(Mapping::Live(), 2u);  // Those of the newest day.
  Mapping::SetProcessMax(5);
  ASSERT_EQ(Mapping::Max(), 5u);

  const std::shared_ptr<const ColumnFile> held = open(0, 1);
  for (const size_t number : {1u, 2u, 1u}) EXPECT_EQ(open(number, 0)->rows(), 2u);
  EXPECT_EQ(OpenTables::Instance().columns_let_go(), let_go);
  for (size_t number = 0; number < 3; ++number) {
    for (size_t column = 0; column < 2; ++column) EXPECT_EQ(open(number, column)->rows(), 2u);
  }
  EXPECT_GT(OpenTables::Instance().columns_let_go(), let_go);
  EXPECT_LE(Mapping::Live(), Mapping::Max());
  EXPECT_EQ(open(0, 1), held);
  EXPECT_EQ(*held->ItemAt(1), Value::Long(2));

  std::vector<std::shared_ptr<const ColumnFile>> all;
  absl::Status refused;
  for (size_t i = 0; i < 6 && refused.ok(); ++i) {
    absl::StatusOr<std::shared_ptr<const ColumnFile>> column = day(i / 2)->Column(i % 2);
    refused = column.status();
    if (column.ok()) all.push_back(*std::move(column));
  }
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_EQ(*day(2)->Rows(), 2u);  // Known without reading a file.
  all.clear();
  EXPECT_TRUE(day(2)->Column(1).ok());
  Mapping::SetProcessMax(0);
}

// Goal: threads can read columns that are opened and closed, in tables that are opened and closed.
// Method: each thread holds one column at a time; five mappings suffice for all of them and for the
// two of a load.
TEST_F(DatabaseTest, ThreadsShareFewMappings) {
  files_.Write("sym", NamesFile({"AAPL", "MSFT"}));
  for (const char* day : {"2024.01.01", "2024.01.02", "2024.01.03"}) WriteTrade(day, {1, 2});
  const auto database = Open();
  Mapping::SetProcessMax(5);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t i = 0; i < 300; ++i) {
        const SplayedTable* const day =
            *database->FindPartitioned("trade")->In((i * (thread + 1)) % 3);
        const auto column = day->Column(i % 2);
        const Value expected = i % 2 == 0 ? Value::Symbol("MSFT") : Value::Long(2);
        if (!column.ok() || *(*column)->ItemAt(1) != expected) ++wrong;
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    const auto other = Database::Open(files_.root());
    if (!other.ok() || (*other)->FindPartitioned("trade") == nullptr) ++wrong;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  Mapping::SetProcessMax(0);
}

// A file that cannot be mapped is not damaged: without its newest day the database would be a
// different one.
TEST_F(DatabaseTest, WantOfMappingsIsNoDamage) {
  files_.Write("sym", NamesFile({"AAPL", "MSFT"}));
  WriteTrade("2024.01.01", {1, 2});
  Mapping::SetProcessMax(Mapping::Live() + 16);
  std::vector<Mapping> others;
  while (Mapping::Live() < Mapping::Max()) {
    others.push_back(*Mapping::OfFile(files_.PathOf("sym")));
  }
  EXPECT_NE(Open()->FindPartitioned("trade"), nullptr);  // It uses its reserve.
  const MappingReserve reserve;
  while (reserve.refused().ok()) {
    absl::StatusOr<Mapping> other = Mapping::OfFile(files_.PathOf("sym"));
    if (other.ok()) others.push_back(*std::move(other));
  }
  const absl::Status refused = Database::Open(files_.root()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  others.clear();
  EXPECT_THAT(Open()->problems(), IsEmpty());
  Mapping::SetProcessMax(0);
}

TEST_F(DatabaseTest, ReadsPartitionsInOrderAndTheirTables) {
  files_.Write("sym", NamesFile({"AAPL", "MSFT"}));
  WriteTrade("2024.01.30", {1, 2});
  WriteTrade("2023.12.29", {3});
  const auto database = Open();
  EXPECT_THAT(database->problems(), IsEmpty());
  EXPECT_EQ(database->partition_column(), "date");
  ASSERT_EQ(database->partitions().size(), 2u);
  EXPECT_EQ(FormatPartition(PartitionKind::kDate, database->partitions()[0].value), "2023.12.29");

  const PartitionedTable* const trade = database->FindPartitioned("trade");
  ASSERT_NE(trade, nullptr);
  EXPECT_EQ(FormatSchema(trade->schema()), "sym s, size j");
  const SplayedTable* const newest = *trade->In(1);
  ASSERT_NE(newest, nullptr);
  EXPECT_EQ(*newest->Rows(), 2u);
  EXPECT_EQ(*(*newest->Column(0))->ItemAt(0), Value::Symbol("MSFT"));
  EXPECT_EQ(*(*newest->Column(1))->ItemAt(1), Value::Long(2));
  EXPECT_EQ(*trade->In(1), newest);  // Opened once.
  EXPECT_EQ(database->FindPartitioned("quote"), nullptr);
}

TEST_F(DatabaseTest, TakesTablesAndColumnsFromTheNewestPartition) {
  WriteTrade("2024.01.01", {1});
  files_.Write("2024.01.02/other/.d", NamesFile({}));  // No trade at all.
  WriteTrade("2024.01.03", {1}, {"venue"});
  const auto database = Open();
  ASSERT_EQ(database->partitioned_tables().size(), 1u);
  const PartitionedTable& trade = *database->partitioned_tables()[0];
  EXPECT_EQ(FormatSchema(trade.schema()), "sym s, size j, venue j");
  EXPECT_EQ((*trade.In(0))->Find("venue"), -1);
  EXPECT_EQ(*trade.In(1), nullptr);
  EXPECT_EQ(*trade.In(1), nullptr);
  EXPECT_FALSE(trade.In(3).ok());
}

TEST_F(DatabaseTest, MergesSegmentsAndTheirDuplicates) {
  files_.Write("par.txt", files_.PathOf("s1") + "/\r\n\ns2\n");
  WriteTrade("s1/2024.01.01", {1});
  WriteTrade("s1/2024.01.03", {3});
  WriteTrade("s2/2024.01.02", {2});
  WriteTrade("s2/2024.01.03", {4});
  WriteTrade("2024.01.09", {9});
  const auto database = Open();
  EXPECT_TRUE(database->is_segmented());
  std::vector<int64_t> sizes;
  for (size_t p = 0; p < database->partitions().size(); ++p) {
    sizes.push_back(
        (*(*(*database->FindPartitioned("trade")->In(p))->Column(1))->ItemAt(0)).as<int64_t>());
  }
  EXPECT_THAT(sizes, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ProblemsOf(*database), ElementsAre(HasSubstr("2024.01.09: a partition beside")));
}

TEST_F(DatabaseTest, AMissingSegmentIsAnErrorUnlessAllowed) {
  files_.Write("par.txt", "s1\nunmounted\n");
  WriteTrade("s1/2024.01.01", {1});
  const auto refused = Database::Open(files_.root());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(refused.status())), HasSubstr("unmounted: no such directory"));
  const auto database = Database::Open(files_.root(), {.allow_missing_segments = true});
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_EQ((*database)->partitions().size(), 1u);
  EXPECT_EQ((*database)->problems().size(), 1u);
}

TEST_F(DatabaseTest, ASegmentThatIsThereTwiceIsAnError) {
  WriteTrade("s1/2024.01.01", {1});
  WriteTrade("s2/2024.01.02", {2});
  std::filesystem::create_directory_symlink(files_.PathOf("s1"), files_.PathOf("link"));
  for (const std::string again : {"s1", "./s1", "s1/", "s1/../s1", "link"}) {
    files_.Write("par.txt", "s1\n\ns2\n" + again + "\n");
    const auto refused = Database::Open(files_.root());
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << again;
    EXPECT_THAT(std::string(Message(refused.status())),
                testing::AllOf(HasSubstr("par.txt: line 1 (s1) and line 4 ("),
                               HasSubstr("are the same directory")));
    const auto database = Database::Open(files_.root(), {.allow_missing_segments = true});
    ASSERT_TRUE(database.ok()) << database.status();
    EXPECT_EQ((*database)->partitions().size(), 2u);
    EXPECT_THAT(ProblemsOf(**database), testing::Contains(HasSubstr("par.txt: line 1 ")));
  }
}

TEST_F(DatabaseTest, APartitionWhoseLinkLeadsNowhereIsAnErrorUnlessAllowed) {
  WriteTrade("2024.01.01", {1});
  for (const std::string target : {"/unmounted/2024.01.02", "2024.01.02"}) {
    const std::string link = files_.PathOf("2024.01.02");
    std::filesystem::remove(link);
    std::filesystem::create_directory_symlink(target, link);
    const auto refused = Database::Open(files_.root());
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(std::string(Message(refused.status())),
                HasSubstr(link + ": a link that leads nowhere: "));
    const auto database = Database::Open(files_.root(), {.allow_missing_segments = true});
    ASSERT_TRUE(database.ok()) << database.status();
    EXPECT_EQ((*database)->partitions().size(), 1u);
    EXPECT_THAT(ProblemsOf(**database),
                ElementsAre(HasSubstr("2024.01.02: a link that leads nowhere: ")));
  }
}

TEST_F(DatabaseTest, ATableWhoseLinkLeadsNowhereFailsThoseWhoNeedIt) {
  WriteTrade("2024.01.01", {1});
  WriteTrade("2024.01.02", {1});
  WriteTrade("2024.01.03", {1});
  for (const std::string partition : {"2024.01.01", "2024.01.03"}) {
    const std::string link = files_.PathOf(partition + "/trade");
    std::filesystem::remove_all(link);
    std::filesystem::create_directory_symlink("/unmounted/trade", link);
  }
  const auto database = Open();
  const PartitionedTable* const trade = database->FindPartitioned("trade");
  ASSERT_NE(trade, nullptr);
  EXPECT_EQ(FormatSchema(trade->schema()), "sym s, size j");
  for (const size_t partition : {0u, 2u}) {
    EXPECT_THAT(std::string(Message(trade->In(partition).status())),
                HasSubstr("/trade: a link that leads nowhere: "));
  }
  EXPECT_TRUE(trade->In(1).ok());
}

TEST_F(DatabaseTest, APartitionThatWentAwaySinceTheLoadIsAnError) {
  WriteTrade("2024.01.01", {1});
  WriteTrade("2024.01.02", {1});
  const auto database = Open();
  std::filesystem::remove_all(files_.PathOf("2024.01.01"));
  EXPECT_THAT(std::string(Message(database->FindPartitioned("trade")->In(0).status())),
              HasSubstr("2024.01.01: directory not found"));
}

TEST_F(DatabaseTest, PipesInTheRootAreNamedAndNeverWaitedFor) {
  WriteTrade("2024.01.01", {1});
  ASSERT_EQ(::mkfifo(files_.PathOf("sym").c_str(), 0600), 0);
  std::filesystem::create_symlink("/unmounted/lookup", files_.PathOf("lookup"));
  EXPECT_THAT(ProblemsOf(*Open()),
              ElementsAre(HasSubstr("lookup: a link that leads nowhere: "),
                          HasSubstr("sym: a device or pipe, expected a file")));
  const std::string segments = files_.PathOf("par.txt");
  ASSERT_EQ(::mkfifo(segments.c_str(), 0600), 0);
  EXPECT_THAT(std::string(Message(Database::Open(files_.root()).status())),
              HasSubstr("par.txt: a device or pipe, expected a file"));
  std::filesystem::remove(segments);
  std::filesystem::create_directory(segments);
  EXPECT_THAT(std::string(Message(Database::Open(files_.root()).status())),
              HasSubstr("par.txt: a directory, expected a file"));
  std::filesystem::remove(segments);
  std::filesystem::create_symlink("/unmounted/par.txt", segments);
  EXPECT_THAT(std::string(Message(Database::Open(files_.root()).status())),
              HasSubstr("par.txt: open: No such file"));
}

TEST_F(DatabaseTest, WhatAMoveLeftIsAProblem) {
  files_.Write("par.txt", "s1\ns2\n");
  WriteTrade("s1/moved.2024.01.01$", {1});
  WriteTrade("s2/moving.2024.01.01$", {1});
  WriteTrade("s2/2024.01.02", {1});
  EXPECT_THAT(ProblemsOf(*Open()),
              ElementsAre(HasSubstr("s1/moved.2024.01.01$: of a move between segments"),
                          HasSubstr("s2/moving.2024.01.01$: of a move between segments")));
}

TEST_F(DatabaseTest, TellsKindsOfPartitionsApart) {
  for (const auto& [names, column] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"2024.01", "2023.12"}, "month"},
           {{"2024", "2023"}, "year"},
           {{"2024", "7"}, "int"},
           {{"451440000000000000"}, "int"},
           {{"7", "2024.01.01"}, "date"}}) {
    const KdbFiles root;
    for (const std::string& name : names) root.Write(name + "/t/.d", NamesFile({}));
    const auto database = Database::Open(root.root());
    ASSERT_TRUE(database.ok()) << database.status();
    EXPECT_EQ((*database)->partition_column(), column);
    EXPECT_EQ((*database)->partitions().size(), column == "date" ? 1 : names.size());
  }
}

TEST_F(DatabaseTest, ForeignAndDamagedFilesInTheRootAreNamedAndLeftOut) {
  files_.Write("sym", NamesFile({"AAPL"}) + "torn");
  files_.Write("exchanges", NamesFile({"N", "AAPL"}));
  files_.Write("notes.txt", "some text of somebody");
  files_.Write("lock$", "ours");
  files_.Write(".hidden", "not ours");
  files_.Write("list", VectorFile<int64_t>(7, {1}));
  files_.Write("list#", "companion");
  files_.Write("lost+found/x", "");
  files_.Write("static/.d", NamesFile({"a"}));
  files_.Write("static/a", VectorFile<int64_t>(7, {1, 2}));
  files_.Write("broken/.d", "nonsense");
  const auto database = Open();
  EXPECT_THAT(
      ProblemsOf(*database),
      ElementsAre("notes.txt: no file of kdb+", "sym: the last 4 bytes are no whole name: left out",
                  HasSubstr("broken/.d: byte 0: expected a symbol vector"),
                  HasSubstr("lost+found: neither a partition nor a table")));
  ASSERT_NE(database->FindSplayed("static"), nullptr);
  EXPECT_EQ(*database->FindSplayed("static")->Rows(), 2u);
  ASSERT_EQ(database->flat_files().size(), 1u);
  EXPECT_EQ(database->flat_files()[0].name, "list");

  // Names of all domains are numbered together; sym's come first.
  const SymbolDomains& domains = *database->domains();
  EXPECT_TRUE(domains.Find("sym")->positions_are_ids());
  EXPECT_THAT(domains.Find("exchanges")->ids(), ElementsAre(1, 0));
  EXPECT_FALSE(domains.Find("exchanges")->positions_are_ids());
}

TEST_F(DatabaseTest, DamageHarmsOnlyItsColumn) {
  files_.Write("sym", NamesFile({"AAPL", "MSFT"}));
  WriteTrade("2024.01.01", {1, 2}, {"a", "b", "c"});
  WriteTrade("2024.01.02", {3, 4}, {"a", "b", "c"});
  files_.Write("2024.01.02/trade/sym", "nonsense");
  files_.Write("2024.01.02/trade/a", VectorFile<int64_t>(7, {1}));
  std::filesystem::remove(files_.PathOf("2024.01.02/trade/b"));
  const auto database = Open();
  const PartitionedTable& trade = *database->FindPartitioned("trade");
  EXPECT_EQ(FormatSchema(trade.schema()), "sym s, size j, a j, b j, c j");
  const SplayedTable& newest = **trade.In(1);
  EXPECT_EQ(*newest.Rows(), 2u);
  EXPECT_TRUE(newest.Column(1).ok());
  EXPECT_TRUE(newest.Column(4).ok());
  EXPECT_THAT(std::string(Message(newest.Column(0).status())), HasSubstr("2024.01.02/trade/sym: "));
  EXPECT_THAT(std::string(Message(newest.Column(2).status())),
              HasSubstr("trade/a: 1 rows, the columns before it have 2"));
  EXPECT_EQ(newest.Column(3).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DatabaseTest, ATableWhoseNamesAreDamagedKeepsItsSchemaFromOlderPartitions) {
  WriteTrade("2024.01.01", {1});
  WriteTrade("2024.01.02", {1});
  files_.Write("2024.01.02/trade/.d", "nonsense");
  files_.Write("2024.01.02/foreign/x", "");
  const auto database = Open();
  ASSERT_EQ(database->partitioned_tables().size(), 1u);
  EXPECT_EQ(FormatSchema(database->FindPartitioned("trade")->schema()), "sym s, size j");
  EXPECT_FALSE(database->FindPartitioned("trade")->In(1).ok());
  EXPECT_THAT(ProblemsOf(*database), ElementsAre(HasSubstr("2024.01.02/foreign: no table")));
}

TEST_F(DatabaseTest, NamesOfColumnsNeverLeaveTheirTable) {
  for (const std::string name : {"../secret", "", ".", "a/b"}) {
    files_.Write("t/.d", NamesFile({"a", name}));
    EXPECT_THAT(std::string(Message(SplayedTable::Open(files_.PathOf("t")).status())),
                HasSubstr("byte 10: '" + name + "' is no name of a column"));
  }
  files_.Write("t/.d", NamesFile({"a", "a"}));
  EXPECT_FALSE(SplayedTable::Open(files_.PathOf("t")).ok());
  // Bytes of a damaged name do not reach a terminal unescaped either.
  for (const std::string name : {"/\x1b[2J\n\xc3\\", "\x1b[2J\n\xc3\\"}) {
    files_.Write("t/.d", NamesFile({name, name}));
    EXPECT_THAT(std::string(Message(SplayedTable::Open(files_.PathOf("t")).status())),
                HasSubstr(R"(\x1b[2J\x0a\xc3\\)"));
  }
  files_.Write("t/.d", NamesFile({"a"}) + "b");
  EXPECT_FALSE(SplayedTable::Open(files_.PathOf("t")).ok());
}

}  // namespace
}  // namespace tickstack::disk
