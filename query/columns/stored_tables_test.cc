// Goal: a partitioned table on disk answers like the table in memory that has its rows, with the
// partition column as the first one.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "disk/partition_writer.h"
#include "query/columns/stored_table.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Queries that use every way to read a table: ranges and scattered rows, the index of attribute
// parted, conditions on partitions before and behind others, groups, joins, sorts, lists. T is
// replaced by the table's name.
constexpr std::string_view kQueries[] = {
    "count T",
    "cols T",
    "select from T",
    "T 150",
    "T[`price]",
    "T[3 170]",
    "select from T where date=2024.01.03",
    "select from T where date=2024.01.04",
    "select from T where date within 2024.01.01 2024.01.03",
    "select from T where date in 2024.01.02 2024.01.05",
    "select from T where date=last date",
    "select from T where date>2024.01.02,sym=`s1",
    "select from T where date<>2024.01.03,not date=2024.01.05",
    "select count i from T where date.month=2024.02m",
    "select from T where sym=`s1",
    "select from T where sym=`nobody",
    "select from T where sym in `s0`s2",
    "select from T where sym like \"s[13]\"",
    "select from T where sym<>`s1,price>50",
    "select from T where price>90,date=2024.01.02",
    "select from T where sym=`s1,date=2024.01.02",
    "update value sym from select from T where date=2024.01.02",
    "select value sym,stamp.mm,time.mm,date.year from T where sym=`s1",
    "exec count i by time.mm from T",
    "exec distinct date.mm from T",
    "select from T where size in 2 3i",
    "select from T where size in 2 3h,time.mm>0",
    "`price`zz _ select from T where date=2024.01.02",
    "exec 2 3 wsum (price;price) from T where sym=`s1",
    "csv 0: select sym,stamp,size from T where date=2024.01.03",
    "select count i by date from T",
    "select count i by sym from T",
    "select sum size,first price,last time by sym from T",
    "select sum size by date,sym from T",
    "select max price by sym,date from T where date>2024.01.01",
    "select avg price,dev price,n:count i by date from T where sym in `s0`s3",
    "select wavg[size;price] by sym from T where date within 2024.01.02 2024.01.05,sym in `s1`s2",
    "select wavg[size;price] by sym from T where date>2024.01.01,sym in `s1`s2,"
    "time within 0D00:00:10 0D00:01",
    "select from T where sym=`s1,time<0D00:00:30",
    "select from T where date=2024.01.02,sym in `s0`s1,time>0D00:00:30,size=2",
    "select time,price from T where time>0D00:01",
    "exec sum size from T where price>0",
    "exec max price from T where price<95",
    "select n:count i,sum price,avg price from T where price>3",
    "exec sum price from T where date>2024.01.01,size<>3",
    "select avg price by 0D00:01 xbar time from T where date=2024.01.05",
    "select max price by sym,time.minute from T where size>3",
    "select by sym from T",
    "select by date from T",
    "exec distinct sym from T",
    "exec distinct date from T",
    "select distinct date,sym from T",
    "exec date from T where sym=`s2",
    "select[5;>price] from T",
    "select[-7] from T where size=2",
    "`price xdesc T",
    "select text from T where sym=`s1",
    "exec last text by sym from T",
    "exec last venue by date from T",
    "select count i by venue from T",
    "select size,venue from T where null size",
    "select sums size,prev price by sym from T",
    "select last price by sym from select from T where date=2024.01.02",
    "aj[`sym`time;select from T where date=2024.01.02;select from T where date=2024.01.02]",
    "aj[`sym`time;select sym,time from T where date=2024.01.02,size>2;"
    "select sym,time,bid:price from T where date=2024.01.02]",
    "aj[`date`sym`time;T;T]",
    "aj[`sym`time;select sym,time,size from T where sym=`s1;select from T where date=2024.01.05]",
    "select from T where sym in `s0`s2,stamp.minute within 00:00 00:01",
    "select from T where sym=`s1,stamp.second<00:00:30",
    "select from T where sym=`s1,stamp.minute=00:01",
    "select from T where sym in `s1`s3,stamp.minute<>00:01",
    "select count i by sym from T where date>2024.01.01,sym in `s0`s3,stamp.time>00:00:20.000",
    "select size wavg price by sym from T where sym in `s0`s3,"
    "stamp.timespan within 0D00:00:10 0D00:01",
    "select from T where sym=`s1,stamp.minute>23:59",
    "select from T where sym=`s1,stamp.minute within 00:02 00:01",
    "select from T where sym=`s1,stamp.hh<1",
    "select from T where sym in `s0`s1,stamp.minute=`minute$date",
    "select from T where sym in `s0`s1,stamp.minute<2",
    "select n:count i,last time,sum size,dev price,max price by date,sym from T",
    "select n:count i,first time,avg size,var price,min price by sym,date from T",
    "select max price by date,sym from T where sym in `s0`s3,time<0D00:01",
    "select sdev price by date from T where date>2024.01.01,sym=`s1",
    "select by date,sym from T",
    "select by sym,date from T where sym in `s3`s1",
    "select n:count i,dev price,(max price)-min price,sum 2*price by date from T",
    "select spread:max price-size,price by sym,date from T where date<>2024.01.04",
    "exec sum size by date from T where sym=`nobody",
    "nbbo[`sym`venue`price`price;T]",
    "nbbo[`sym`venue`price`price`size`size;select from T where date=2024.01.02]",
    "nbbo[`sym`venue`price`price;select from T where sym in `s0`s3]",
    "nbbo[`sym`size`price`price;select[3 100] from T]",
};

std::string Over(std::string_view query, std::string_view table) {
  std::string text;
  for (const char c : query) {
    if (c == 'T') {
      text += table;
    } else {
      text += c;
    }
  }
  return text;
}

constexpr std::string_view kDays[] = {"2024.01.01", "2024.01.02", "2024.01.03", "2024.01.04",
                                      "2024.01.05"};

// `disk`, in a database of five days, and `memory` with the same rows. The first day has no columns
// `size` and `venue`, the fourth no rows.
class DiskAndMemory : public TestEnvironment {
 public:
  DiskAndMemory(uint32_t seed, bool compress, bool segments)
      : directory_(std::filesystem::temp_directory_path() / "tickstack.XXXXXX") {
    TS_CHECK(::mkdtemp(directory_.data()) != nullptr);
    if (segments) {
      std::filesystem::create_directories(directory_ + "/a");
      std::filesystem::create_directories(directory_ + "/b");
      std::ofstream(directory_ + "/par.txt") << directory_ << "/a\n" << directory_ << "/b\n";
    }
    std::mt19937 random(seed);
    for (size_t day = 0; day < std::size(kDays); ++day) AddDay(day, day == 3 ? 0 : 60, random);
    CaptureTable("memory", fmt::format("([]date:{};sym:{};time:`timespan${};stamp:({})+"
                                       "`timespan${};price:{};size:{};venue:{};text:({}))",
                                       all_.date, all_.sym, all_.time, all_.date, all_.time,
                                       all_.price, all_.size, all_.venue, all_.text));
    disk::PartitionWriterOptions options;
    options.database = directory_;
    if (compress) options.compression.Set("default", {disk::Compression::kGzip, 6, 12});
    for (size_t day = 0; day < std::size(kDays); ++day) {
      const Snapshot rows = *FindTable(fmt::format("day{}", day));
      const absl::StatusOr<disk::WrittenPartition> written =
          disk::WritePartition(options, *ParseDate(kDays[day]), std::span(&rows, 1));
      TS_CHECK(written.ok());
      paths_.push_back(written->path);
    }
    Load();
  }
  ~DiskAndMemory() override { std::filesystem::remove_all(directory_); }

  void Load() {
    absl::StatusOr<std::shared_ptr<const disk::Database>> database =
        disk::Database::Open(directory_);
    TS_CHECK(database.ok());
    // The table is called `trade` in the database and `disk` in queries.
    AddStored("disk", StoredTable::Find(*database, "trade"));
  }
  const std::string& PathOf(size_t day) const { return paths_[day]; }

 private:
  struct Text {
    std::string date, time, sym, price, size, venue, text;
  };

  // Adds a day whose rows are in a partition's order: by symbol, then by time.
  void AddDay(size_t day, size_t rows, std::mt19937& random) {
    const bool first = day == 0;
    Text text;
    std::vector<size_t> symbols(rows);
    for (size_t& symbol : symbols) symbol = random() % 4;
    std::sort(symbols.begin(), symbols.end());
    int64_t time = 0;
    for (size_t i = 0; i < rows; ++i) {
      if (i > 0 && symbols[i] != symbols[i - 1]) time = 0;
      time += static_cast<int64_t>(random() % 5'000'000'000);
      text.date += fmt::format(" {}", kDays[day]);
      text.time += fmt::format(" {}", time);
      text.sym += fmt::format("`s{}", symbols[i]);
      text.price += fmt::format(" {}.5", random() % 100);
      text.size += first ? std::string(" 0N") : fmt::format(" {}", random() % 5);
      text.venue += first ? std::string("`") : fmt::format("`v{}", random() % 3);
      text.text += fmt::format(";\"t{} \"", random() % 4);
    }
    const std::string columns =
        rows == 0
            ? "time:0#0D00;sym:0#`;stamp:0#2000.01.01D00;price:0#0f;size:0#0;venue:0#`;text:()"
            : fmt::format(
                  "time:`timespan${};sym:{};stamp:({})+`timespan${};price:{}{};text:({})",
                  text.time, text.sym, text.date, text.time, text.price,
                  first ? std::string() : fmt::format(";size:{};venue:{}", text.size, text.venue),
                  text.text.substr(1));
    CaptureTable(fmt::format("day{}", day), fmt::format("([]{})", columns), 64, "trade");
    all_.date += text.date;
    all_.time += text.time;
    all_.sym += text.sym;
    all_.price += text.price;
    all_.size += text.size;
    all_.venue += text.venue;
    all_.text += all_.text.empty() && !text.text.empty() ? text.text.substr(1) : text.text;
  }

  std::string directory_;
  Text all_;
  std::vector<std::string> paths_;
};

TEST(StoredTables, AnswerAsTheTableInMemory) {
  WorkerPool helpers(2);
  Limits limits;
  limits.workers = &helpers;
  for (const bool compress : {false, true}) {
    for (const bool segments : {false, true}) {
      DiskAndMemory tables(7, compress, segments);
      for (const std::string_view query : kQueries) {
        const std::string expected = tables.Ask(Over(query, "memory"));
        EXPECT_THAT(expected, testing::Not(StartsWith("'"))) << query;
        ASSERT_EQ(tables.Ask(Over(query, "disk")), expected) << query;
        ASSERT_EQ(tables.Ask(Over(query, "disk"), limits), expected) << query;
      }
    }
  }
}

TEST(StoredTables, RowNumbersBeginAnewInEachPartition) {
  DiskAndMemory tables(1, false, false);
  EXPECT_EQ(tables.Ask("exec max i by date from disk where date<2024.01.03"),
            tables.Ask("2024.01.01 2024.01.02!59 59"));
  EXPECT_EQ(tables.Ask("exec i from disk where i<2"), "0 1 0 1 0 1 0 1");
  EXPECT_EQ(tables.Ask("exec i from select from disk where date=2024.01.02,i within 57 58"), "0 1")
      << "what was selected is a table of its own";
}

TEST(StoredTables, MetaSaysWhatTheNewestPartitionHas) {
  DiskAndMemory tables(1, false, false);
  EXPECT_EQ(tables.Ask("exec c!t from meta disk"),
            tables.Ask("`date`sym`time`stamp`price`size`venue`text!\"dsnpfjsC\""));
  EXPECT_EQ(tables.Ask("exec c!a from meta disk where c=`sym"),
            tables.Ask("(enlist`sym)!enlist`p"));
}

// Damages a file of a table or a domain, and removes the checksums, which would name the damage
// first. Files of kdb+ have none.
void Overwrite(const std::string& path, size_t offset, std::string_view bytes) {
  std::filesystem::remove(path.substr(0, path.rfind('/')) + "/.checksums");
  std::filesystem::remove(path + ".checksums$");
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  TS_CHECK(file.good());
}

TEST(StoredTables, ADamagedFileFailsTheQueriesThatNeedItAndNoOthers) {
  DiskAndMemory tables(3, false, false);
  const std::string path = tables.PathOf(2) + "/trade/price";
  Overwrite(path, 0, std::string(16, '\x7f'));
  tables.Load();
  EXPECT_THAT(tables.Ask("select sum price from disk"),
              testing::AllOf(StartsWith("'"), HasSubstr(path)));
  EXPECT_THAT(tables.Ask("select from disk where date=2024.01.03"), HasSubstr(path));
  for (const std::string_view query :
       {"select sum size from T", "select sum price from T where date<>2024.01.03", "count T",
        "select last time by sym from T"}) {
    EXPECT_EQ(tables.Ask(Over(query, "disk")), tables.Ask(Over(query, "memory"))) << query;
  }
}

// Goal: each block with a row that is read is verified, whichever rows these are, and no other.
// Method: one block of a column is damaged; a query of random rows is an error if one of them is in
// that block, and otherwise has the right answer. Rows ascend in a condition, and do not as items.
TEST(StoredTables, RowsOfADamagedBlockAreErrorsAndNoOthers) {
  constexpr int64_t kRows = 50'000, kOffset = 16, kBlockBytes = 65'536;
  std::string directory = std::filesystem::temp_directory_path() / "tickstack.XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  TestEnvironment tables;
  tables.CaptureTable("day", fmt::format("([]sym:{0}#`a;size:til {0})", kRows), 4096, "trade");
  disk::PartitionWriterOptions options;
  options.database = directory;
  const Snapshot day = *tables.FindTable("day");
  const absl::StatusOr<disk::WrittenPartition> written =
      disk::WritePartition(options, *ParseDate("2024.01.01"), std::span(&day, 1));
  ASSERT_TRUE(written.ok()) << written.status();
  const std::string path = written->path + "/trade/size";
  std::mt19937 random(1);
  const auto draw = [&random](int64_t below) { return static_cast<int64_t>(random()) % below; };
  int damaged = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t block = 1 + trial % 5;  // The first has the header, which is verified at once.
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const int64_t at = block * kBlockBytes + draw(kBlockBytes);
    file.seekg(at);
    const char before = static_cast<char>(file.get());
    file.seekp(at).put(static_cast<char>(before ^ 4)).flush();
    absl::StatusOr<std::shared_ptr<const disk::Database>> database =
        disk::Database::Open(directory);
    ASSERT_TRUE(database.ok()) << database.status();
    tables.AddStored("disk", StoredTable::Find(*database, "trade"));
    const int64_t begin = draw(kRows), end = begin + draw(30'000), step = 1 + draw(9'000);
    int64_t sum = 0;
    bool read = false;
    for (int64_t row = begin; row < std::min(end, kRows); row += step) {
      sum += row;
      const int64_t of_row = (kOffset + 8 * row) / kBlockBytes;
      read = read || of_row == block;
    }
    for (const std::string_view rows : {"asc", "desc"}) {
      const std::string answer =
          tables.Ask(fmt::format("{{r:x where x<{};sum (disk {} r)`size}}[{}+{}*til {}]", kRows,
                                 rows, begin, step, (end - begin + step - 1) / step));
      if (read) {
        EXPECT_THAT(answer, testing::AllOf(StartsWith("'"), HasSubstr(path))) << trial;
      } else {
        EXPECT_EQ(answer, fmt::format("{}", sum)) << trial;
      }
    }
    const std::string answer =
        tables.Ask(fmt::format("exec sum size from disk where i>={},i<{},0=(i-{}) mod {}", begin,
                               std::min(end, kRows), begin, step));
    if (read) {
      EXPECT_THAT(answer, testing::AllOf(StartsWith("'"), HasSubstr(path))) << trial;
    } else {
      EXPECT_EQ(answer, fmt::format("{}", sum)) << trial;
    }
    damaged += read;
    file.seekp(at).put(before).flush();
  }
  EXPECT_GT(damaged, 40);
  EXPECT_LT(damaged, 160);
  std::filesystem::remove_all(directory);
}

// Goal: a position without a name is an error: it is neither another name nor a null.
TEST(StoredTables, APositionOutsideOfTheDomainIsAnError) {
  DiskAndMemory tables(3, false, false);
  const std::string path = tables.PathOf(1) + "/trade/venue";
  const size_t elements = 4096;
  Overwrite(path, elements + 8 * 7, std::string("\x50\x00\x00\x00\x00\x00\x00\x00", 8));
  tables.Load();
  EXPECT_THAT(tables.Ask("select venue from disk"), HasSubstr(path));
  EXPECT_THAT(tables.Ask("select count i by venue from disk"), HasSubstr(path));
  EXPECT_THAT(tables.Ask("`venue xasc disk"), HasSubstr(path));
  EXPECT_THAT(tables.Ask("disk 67"), HasSubstr(path));
  EXPECT_EQ(tables.Ask("exec last venue from disk where date=2024.01.05"),
            tables.Ask("exec last venue from memory where date=2024.01.05"));
}

// Goal: if the index has such a position too, every query that asks for its rows is an error,
// although it reads none of them; other queries are answered.
TEST(StoredTables, AnIndexedPositionOutsideOfTheDomainIsAnErrorOfItsRows) {
  DiskAndMemory tables(3, false, false);
  const std::string path = tables.PathOf(1) + "/trade/sym", domain = tables.PathOf(1) + "/../sym";
  // Cuts the last names off the domain, among them `s1`, which every day has.
  const uint64_t kept = 8 + sizeof("s0");
  std::filesystem::resize_file(domain, kept);
  Overwrite(domain, 4, std::string("\1\0\0\0", 4));
  tables.Load();
  for (const std::string_view query :
       {"select n:count i by sym from disk where date=2024.01.02",
        "select n:count i by date,sym from disk where date=2024.01.02",
        "select from disk where date=2024.01.02,sym=`s1",
        "select from disk where date=2024.01.02,sym in `s0`s1",
        "select from disk where date=2024.01.02,sym like \"s*\"",
        "select from disk where date=2024.01.02,sym<>`s0",
        "exec distinct sym from disk where date=2024.01.02",
        "select sym from disk where date=2024.01.02",
        "aj[`sym`time;([]sym:`s0`s0;time:2#0D00:01);select sym,time,price from disk "
        "where date=2024.01.02]"}) {
    EXPECT_THAT(tables.Ask(query),
                testing::AllOf(StartsWith("'"), HasSubstr(path + ": byte "), HasSubstr(": row "),
                               HasSubstr(" has position "), HasSubstr("domain sym has 1 names")))
        << query;
  }
  for (const std::string_view query :
       {"select sum size by date from T",
        "select time,price,size from T where date=2024.01.02,sym=`s0",
        "select count i by sym from T where sym=`s0",
        "aj[`sym`time;([]sym:`s0`s0;time:2#0D00:01);select sym,time,price from T "
        "where date=2024.01.02,sym=`s0]"}) {
    EXPECT_EQ(tables.Ask(Over(query, "disk")), tables.Ask(Over(query, "memory"))) << query;
  }
  EXPECT_EQ(tables.Ask("count select from disk where date=2024.01.02,sym=`"), "0");
}

TEST(StoredTables, AColumnOfAnotherTypeThanTheNewestIsAnErrorByItsFile) {
  DiskAndMemory tables(3, false, false);
  const std::string path = tables.PathOf(1) + "/trade/price";
  Overwrite(path, 2, "\x07");  // Makes the type longs.
  tables.Load();
  EXPECT_THAT(tables.Ask("select max price from disk"),
              testing::AllOf(HasSubstr(path), HasSubstr("long"), HasSubstr("float")));
}

TEST(StoredTables, ConditionsOnPartitionsOpenNoOtherPartition) {
  DiskAndMemory tables(3, false, false);
  for (const size_t day : {0u, 1u, 3u, 4u}) std::filesystem::remove_all(tables.PathOf(day));
  EXPECT_EQ(tables.Ask("select from disk where date=2024.01.03,sym=`s1"),
            tables.Ask("select from memory where date=2024.01.03,sym=`s1"));
}

}  // namespace
}  // namespace tickstack::query
