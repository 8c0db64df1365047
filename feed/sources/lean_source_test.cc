#include "feed/sources/lean_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zip.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/status.h"
#include "base/time.h"
#include "feed/sources/source_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

// A temporary folder of archives.
class LeanSourceTest : public testing::Test {
 protected:
  LeanSourceTest()
      : folder_(fs::temp_directory_path() /
                fmt::format("tickstack_lean_{}_{}", getpid(),
                            testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~LeanSourceTest() override { fs::remove_all(folder_); }

  fs::path PathOf(const std::string& symbol, const std::string& table) const {
    return folder_ / symbol / ("20131007_" + table + ".zip");
  }

  // Writes an archive of `files` files with the same text.
  void Archive(const std::string& symbol, const std::string& table, const std::string& text,
               int files = 1) {
    fs::create_directories(folder_ / symbol);
    zip_t* zip = zip_open(PathOf(symbol, table).c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    ASSERT_NE(zip, nullptr);
    for (int i = 0; i < files; ++i) {
      zip_source_t* source = zip_source_buffer(zip, text.data(), text.size(), 0);
      ASSERT_GE(zip_file_add(zip, fmt::format("{}.csv", i).c_str(), source, 0), 0);
    }
    ASSERT_EQ(zip_close(zip), 0);
  }

  LeanOptions Options(std::vector<std::string> symbols) const {
    LeanOptions options;
    options.path = folder_;
    options.date = "2013.10.07";
    options.symbols = std::move(symbols);
    return options;
  }

  // Returns all rows, with times as milliseconds of the day; an error is stored in error_.
  RowsByTable Read(const LeanOptions& options) {
    RowsByTable rows;
    absl::StatusOr<std::unique_ptr<LeanSource>> source = LeanSource::Create(options);
    error_ = source.status();
    if (!source.ok()) return rows;
    (*source)->Start(0);
    error_ = Drain(**source, 0, rows);
    return rows;
  }

  std::string ErrorOf(const LeanOptions& options) {
    Read(options);
    return std::string(Message(error_));
  }

  fs::path folder_;
  absl::Status error_;
};

constexpr int64_t kDayNs = 5'028 * kNsPerDay;  // 2013.10.07

std::string Row(int64_t ms, std::string_view rest) {
  return fmt::format("{},{}", kDayNs + ms * 1'000'000, rest);
}

TEST_F(LeanSourceTest, PublishesTradesInDollarsUnderCapitals) {
  Archive("bac", "trade", "14400688,491800,300,P,2000,0\n34200000,138050,100,N,1,1\n");
  const RowsByTable rows = Read(Options({"bac"}));
  ASSERT_TRUE(error_.ok()) << error_;
  EXPECT_THAT(rows.at("trade"), ElementsAre(Row(14'400'688, "BAC,49.18,300,0,T,P"),
                                            Row(34'200'000, "BAC,13.805,100,1,@,N")));
}

TEST_F(LeanSourceTest, PublishesBothSidesOfTheExchangesQuoteTheUnseenOneNull) {
  Archive("aig", "quote",
          "1000,0,0,494100,300,Q,1,0\n"
          "1001,491800,200,0,0,P,1,0\n"
          "1002,491900,100,0,0,Q,1,0\n"
          "1003,0,0,494000,500,Q,8,0\n"
          "1004,492000,700,494200,800,P,1,1\n");
  const RowsByTable rows = Read(Options({"aig"}));
  ASSERT_TRUE(error_.ok()) << error_;
  const std::string null = std::to_string(kNullLong);
  EXPECT_THAT(rows.at("quote"), ElementsAre(Row(1000, "AIG,-nan,49.41," + null + ",300,R,Q"),
                                            Row(1001, "AIG,49.18,-nan,200," + null + ",R,P"),
                                            Row(1002, "AIG,49.19,49.41,100,300,R,Q"),
                                            Row(1003, "AIG,49.19,49.4,100,500,C,Q"),
                                            Row(1004, "AIG,49.2,49.42,700,800,r,P")));
}

TEST_F(LeanSourceTest, TheQuotesOfTwoSymbolsDoNotMix) {
  Archive("aig", "quote", "1000,0,0,494100,300,Q,1,0\n");
  Archive("bac", "quote", "1001,138000,100,0,0,Q,1,0\n");
  const RowsByTable rows = Read(Options({"aig", "bac"}));
  const std::string null = std::to_string(kNullLong);
  EXPECT_EQ(rows.at("quote")[1], Row(1001, "BAC,13.8,-nan,100," + null + ",R,Q"));
}

// For equal times: quotes before trades, then symbols in the requested order, then as in the file.
TEST_F(LeanSourceTest, MergesInTheDocumentedOrder) {
  Archive("aig", "trade", "5,10000,1,N,1,0\n7,10000,2,N,1,0\n7,10000,3,N,1,0\n");
  Archive("aig", "quote", "7,10000,4,0,0,N,1,0\n");
  Archive("bac", "trade", "6,10000,5,N,1,0\n7,10000,6,N,1,0\n");
  Archive("bac", "quote", "7,10000,7,0,0,N,1,0\n");
  LeanOptions options = Options({"bac", "aig"});
  options.batch_rows = 1;
  absl::StatusOr<std::unique_ptr<LeanSource>> source = LeanSource::Create(options);
  ASSERT_TRUE(source.ok()) << source.status();
  std::vector<std::string> order;
  while (true) {
    const absl::StatusOr<const FeedBatch*> batch = (*source)->Next(0);
    ASSERT_TRUE(batch.ok());
    if (*batch == nullptr) break;
    const std::string row = RowTexts((*batch)->data).at(0);
    order.push_back(fmt::format("{} {}", (*batch)->table, row.substr(row.find(',') + 1, 3)));
    order.back() +=
        (*batch)->table == "trade" ? fmt::format(" {}", row.substr(row.find(",1,") + 3, 1)) : "";
  }
  EXPECT_THAT(order, ElementsAre("trade AIG 1", "trade BAC 5", "quote BAC", "quote AIG",
                                 "trade BAC 6", "trade AIG 2", "trade AIG 3"));
}

TEST_F(LeanSourceTest, TakesFractionsOfAMillisecondAndCarriageReturns) {
  Archive("aig", "trade", "34200000.1234,10000,1,N,1,0\r\n34200000.123456,10000,1,N,1,0");
  const RowsByTable rows = Read(Options({"aig"}));
  ASSERT_TRUE(error_.ok()) << error_;
  EXPECT_THAT(rows.at("trade")[0],
              testing::StartsWith(std::to_string(kDayNs + 34'200'000'123'400)));
  EXPECT_THAT(rows.at("trade")[1],
              testing::StartsWith(std::to_string(kDayNs + 34'200'000'123'456)));
}

TEST_F(LeanSourceTest, PacesByTheTicksOwnTimes) {
  Archive("aig", "trade", "1000,10000,1,N,1,0\n3000,10000,2,N,1,0\n5000,10000,3,N,1,0\n");
  LeanOptions options = Options({"aig"});
  options.speed = 2;
  absl::StatusOr<std::unique_ptr<LeanSource>> source = LeanSource::Create(options);
  ASSERT_TRUE(source.ok());
  constexpr int64_t kStartNs = 1'000 * kNsPerDay;
  (*source)->Start(kStartNs);
  RowsByTable rows;
  ASSERT_TRUE(Drain(**source, kStartNs + kNsPerSecond - 1, rows).ok());
  EXPECT_EQ(rows["trade"].size(), 1u);
  EXPECT_EQ((*source)->next_due_ns(), kStartNs + kNsPerSecond);
  ASSERT_TRUE(Drain(**source, kStartNs + 2 * kNsPerSecond, rows).ok());
  EXPECT_EQ(rows["trade"].size(), 3u);
  EXPECT_EQ((*source)->next_due_ns(), kNeverDue);
}

TEST_F(LeanSourceTest, NamesArchiveLineFoundAndExpected) {
  const auto error_of = [this](const std::string& table, const std::string& line) {
    const std::string good = table == "trade" ? "1,2,3,N,1,0\n" : "1,2,3,4,5,N,1,0\n";
    Archive("aig", table, good + line + "\n");
    const std::string error = ErrorOf(Options({"aig"}));
    EXPECT_EQ(error_.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(error, testing::StartsWith(PathOf("aig", table).string() + ": line 2: "));
    fs::remove(PathOf("aig", table));
    return error.substr(error.find("line 2: ") + 8);
  };
  EXPECT_EQ(error_of("trade", "1,2,3,N,1"),
            "5 fields, expected 6: ms,price,size,exchange,condition,suspicious");
  EXPECT_THAT(error_of("trade", "1,2,3,N,1,0,"), HasSubstr("7 fields, expected 6"));
  EXPECT_EQ(error_of("trade", "x,2,3,N,1,0"),
            "ms 'x', expected milliseconds of a day, 0 to 86399999");
  EXPECT_THAT(error_of("trade", "86400000,2,3,N,1,0"), HasSubstr("ms '86400000'"));
  EXPECT_THAT(error_of("trade", "2.1234567,2,3,N,1,0"), HasSubstr("ms '2.1234567'"));
  EXPECT_THAT(error_of("trade", "2.,2,3,N,1,0"), HasSubstr("ms '2.'"));
  EXPECT_THAT(error_of("trade", "-1,2,3,N,1,0"), HasSubstr("ms '-1'"));
  EXPECT_THAT(error_of("trade", "2,2.5,3,N,1,0"),
              HasSubstr("price '2.5', expected a whole number of 1/10000 dollars"));
  EXPECT_THAT(error_of("trade", "2,2,2147483648,N,1,0"), HasSubstr("size '2147483648'"));
  EXPECT_THAT(error_of("trade", "2,2,3,NQ,1,0"), HasSubstr("exchange 'NQ', expected one capital"));
  EXPECT_THAT(error_of("trade", "2,2,3,,1,0"), HasSubstr("exchange ''"));
  EXPECT_THAT(error_of("trade", "2,2,3,N,xyz,0"), HasSubstr("condition 'xyz', expected hex"));
  EXPECT_THAT(error_of("trade", "2,2,3,N,100000000,0"), HasSubstr("condition '100000000'"));
  EXPECT_THAT(error_of("trade", "2,2,3,N,1,2"), HasSubstr("suspicious '2', expected 0 or 1"));
  EXPECT_THAT(error_of("quote", "2,2,3,4,N,1,0"), HasSubstr("7 fields, expected 8"));
  EXPECT_THAT(error_of("quote", "2,b,3,4,5,N,1,0"), HasSubstr("bid 'b'"));
  EXPECT_THAT(error_of("quote", "2,2,b,4,5,N,1,0"), HasSubstr("bidsize 'b'"));
  EXPECT_THAT(error_of("quote", "2,2,3,b,5,N,1,0"), HasSubstr("ask 'b'"));
  EXPECT_THAT(error_of("quote", "2,2,3,4,b,N,1,0"), HasSubstr("asksize 'b'"));
  EXPECT_THAT(error_of("quote", "2,2,3,4,5,n,1,0"), HasSubstr("exchange 'n'"));
  EXPECT_THAT(error_of("quote", "2,2,3,4,5,N,,0"), HasSubstr("condition ''"));
  EXPECT_THAT(error_of("quote", "2,2,3,4,5,N,1,"), HasSubstr("suspicious ''"));
  EXPECT_EQ(error_of("quote", "0,2,3,4,5,N,1,0"),
            "0 ms, expected no time before that of the line before, 1 ms");
  EXPECT_THAT(error_of("trade", std::string(5'000, '1')),
              HasSubstr("bytes, expected at most 4096"));
}

TEST_F(LeanSourceTest, GivesOutTheRowsBeforeABadLine) {
  Archive("aig", "trade", "1,10000,3,N,1,0\n2,10000,3,N,1,0\nbad\n");
  Archive("bac", "trade", "1,10000,3,N,1,0\n");
  const RowsByTable rows = Read(Options({"aig", "bac"}));
  EXPECT_THAT(std::string(Message(error_)), HasSubstr("line 3"));
  EXPECT_EQ(rows.at("trade").size(), 3u);
}

TEST_F(LeanSourceTest, ALineWithoutEndIsRefusedBeforeItFillsTheMemory) {
  Archive("aig", "trade", std::string(5'000'000, '7'));
  EXPECT_THAT(ErrorOf(Options({"aig"})), HasSubstr("line 1: over 4096 bytes without an end"));
}

TEST_F(LeanSourceTest, SaysWhatIsWrongWithAnArchive) {
  EXPECT_THAT(ErrorOf(Options({"aig"})),
              HasSubstr("aig: expected 20131007_trade.zip or 20131007_quote.zip"));
  EXPECT_EQ(error_.code(), absl::StatusCode::kNotFound);
  Archive("two", "trade", "1,2,3,N,1,0\n", 2);
  EXPECT_THAT(ErrorOf(Options({"two"})), EndsWith("2 files in the archive, expected 1"));
  Archive("not", "trade", "1,2,3,N,1,0\n");
  std::ofstream(PathOf("not", "trade"), std::ios::trunc) << "no archive at all, only some text";
  EXPECT_THAT(ErrorOf(Options({"not"})), EndsWith("expected a zip archive"));
  Archive("gone", "trade", "1,2,3,N,1,0\n");
  absl::StatusOr<std::unique_ptr<LeanSource>> source = LeanSource::Create(Options({"gone"}));
  ASSERT_TRUE(source.ok());
  fs::remove(PathOf("gone", "trade"));
  EXPECT_EQ((*source)->Rewind({}).code(), absl::StatusCode::kNotFound);
}

// Goal: damage never passes for data. Method: flip every byte of an archive in turn, and cut it at
// every length; each time the rows are correct or there is an error.
TEST_F(LeanSourceTest, DamageIsAnErrorOrWithoutEffect) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += fmt::format("{},{},{},N,1,0\n", i * 7, 10'000 + i * i, i);
  Archive("aig", "trade", text);
  const RowsByTable expected = Read(Options({"aig"}));
  ASSERT_EQ(expected.at("trade").size(), 40u);
  std::string bytes;
  {
    std::ifstream in(PathOf("aig", "trade"), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto check = [&](const std::string& damaged, size_t at) {
    std::ofstream(PathOf("aig", "trade"), std::ios::binary | std::ios::trunc) << damaged;
    const RowsByTable rows = Read(Options({"aig"}));
    if (error_.ok()) {
      EXPECT_EQ(rows, expected) << at;
    }
    return error_.ok();
  };
  size_t noticed = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    noticed += !check(flipped, at);
  }
  EXPECT_GT(noticed, bytes.size() / 2);  // The rest are dates, names and attributes.
  for (size_t at = 0; at < bytes.size(); ++at) EXPECT_FALSE(check(bytes.substr(0, at), at)) << at;
}

TEST_F(LeanSourceTest, NamesTheOptionAtFault) {
  Archive("aig", "trade", "1,2,3,N,1,0\n");
  const auto error_of = [this](auto change) {
    LeanOptions options = Options({"aig"});
    change(options);
    return ErrorOf(options);
  };
  EXPECT_EQ(error_of([](LeanOptions& o) { o.date = "2013.13.07"; }),
            "date '2013.13.07': expected such as 2013.10.07");
  EXPECT_THAT(error_of([](LeanOptions& o) { o.date = ""; }), HasSubstr("--date is missing"));
  EXPECT_THAT(error_of([](LeanOptions& o) { o.path = ""; }), HasSubstr("--path is missing"));
  EXPECT_THAT(error_of([](LeanOptions& o) { o.symbols.clear(); }),
              HasSubstr("--symbols is missing"));
  EXPECT_THAT(error_of([](LeanOptions& o) { o.symbols = {"../aig"}; }),
              HasSubstr("'../aig', expected a folder name"));
  EXPECT_THAT(error_of([](LeanOptions& o) { o.symbols = {"aig", "aig"}; }),
              HasSubstr("aig is listed twice"));
  EXPECT_THAT(error_of([](LeanOptions& o) { o.batch_rows = 0; }), HasSubstr("batch-rows 0"));
  EXPECT_THAT(error_of([](LeanOptions& o) { o.speed = -1; }), HasSubstr("speed -1"));
}

// Goal: a rewind continues exactly at the requested rows, with the quotes' other sides correct.
// Method: as in sim_source_test, batches count as lost at random, for each table independently.
TEST_F(LeanSourceTest, ResumesExactlyAfterTheRowsThatAreDone) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    for (const std::string symbol : {"aig", "bac"}) {
      std::string trades, quotes;
      for (int64_t ms = 0; ms < 3'000; ms += static_cast<int64_t>(rng() % 12)) {
        if (rng() % 4 == 0) trades += fmt::format("{},{},{},N,1,0\n", ms, rng() % 999, rng() % 9);
        const bool bid = rng() % 2 == 0;
        const auto side = fmt::format("{},{}", rng() % 999 + 1, rng() % 9);
        quotes += fmt::format("{},{},{},{},1,0\n", ms, bid ? side : "0,0", bid ? "0,0" : side,
                              static_cast<char>('A' + rng() % 3));
      }
      Archive(symbol, "trade", trades);
      Archive(symbol, "quote", quotes);
    }
    LeanOptions options = Options({"aig", "bac"});
    const RowsByTable expected = Read(options);
    options.batch_rows = static_cast<int64_t>(1 + rng() % 60);
    absl::StatusOr<std::unique_ptr<LeanSource>> source = LeanSource::Create(options);
    ASSERT_TRUE(source.ok());
    RowsByTable rows;
    for (int losses = 0; losses < 12; ++losses) {
      ASSERT_TRUE(Drain(**source, 0, rows, static_cast<int64_t>(rng() % 9)).ok());
      for (auto& [table, texts] : rows) texts.resize(texts.size() - rng() % (texts.size() + 1) / 2);
      ASSERT_TRUE((*source)->Rewind(Counts(rows)).ok());
    }
    ASSERT_TRUE(Drain(**source, 0, rows).ok());
    ExpectSameRows(rows, expected);
  }
}

TEST(LeanRows, TheFlagThatSaysMostGivesTheLetter) {
  EXPECT_EQ(SaleConditionOf(0), ' ');
  EXPECT_EQ(SaleConditionOf(0x1), '@');
  EXPECT_EQ(SaleConditionOf(0x20000020), 'F');  // A sweep, exempt from trade-through.
  EXPECT_EQ(SaleConditionOf(0x20002020), 'T');  // The same in extended hours.
  EXPECT_EQ(SaleConditionOf(0x4800), 'Z');
  EXPECT_EQ(SaleConditionOf(0x80000000), 'I');
  EXPECT_EQ(QuoteModeOf(0x1, false), 'R');
  EXPECT_EQ(QuoteModeOf(0x1, true), 'r');
  EXPECT_EQ(QuoteModeOf(0x800, false), 'O');
  EXPECT_EQ(QuoteModeOf(0, true), ' ');
}

TEST(LeanFixtures, ADayOfThreeSymbolsGivesEveryLineOneRowInTimeOrder) {
  TS_REQUIRE_FIXTURE(folder, "lean-ticks");
  LeanOptions options;
  options.path = folder;
  options.date = "2013.10.07";
  options.symbols = {"aig", "bac", "ibm"};
  absl::StatusOr<std::unique_ptr<LeanSource>> source = LeanSource::Create(options);
  ASSERT_TRUE(source.ok()) << source.status();
  NameMap<int64_t> rows, time_ns;
  while (true) {
    const absl::StatusOr<const FeedBatch*> batch = (*source)->Next(0);
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (*batch == nullptr) break;
    rows[(*batch)->table] += (*batch)->rows;
    const absl::StatusOr<Value> x = wire::Decode((*batch)->data);
    ASSERT_TRUE(x.ok());
    int64_t& last_ns = time_ns[(*batch)->table];
    for (const int64_t ns : x->items()[0].span<int64_t>()) {
      ASSERT_GE(ns, last_ns);
      last_ns = ns;
    }
  }
  EXPECT_EQ(rows["quote"], 1'665'857);
  EXPECT_EQ(rows["trade"], 137'816);
}

TEST(LeanFixtures, ASymbolMayHaveTradesOnly) {
  TS_REQUIRE_FIXTURE(folder, "lean-ticks");
  LeanOptions options;
  options.path = folder;
  options.date = "20131007";
  options.symbols = {"spy"};
  absl::StatusOr<std::unique_ptr<LeanSource>> source = LeanSource::Create(options);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT((*source)->Describe(), EndsWith("SPY_without=quote"));
}

}  // namespace
}  // namespace tickstack::feed
