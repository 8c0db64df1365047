#include "feed/market/tardis/tardis_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"
#include "feed/market/event_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTardisChanges =
    "exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount\n";
constexpr std::string_view kTardisTrades =
    "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n";
constexpr std::string_view kTardisQuotes =
    "exchange,symbol,timestamp,local_timestamp,ask_amount,ask_price,bid_price,bid_amount\n";
constexpr std::string_view kTardisBooks =
    "exchange,symbol,timestamp,local_timestamp,asks[0].price,asks[0].amount,bids[0].price,"
    "bids[0].amount,asks[1].price,asks[1].amount,bids[1].price,bids[1].amount\n";

// Writes files, and reads their events as texts. Times are from kEpochUs on, in us since 1970.
constexpr int64_t kEpochUs = 946'684'800'000'000;

class TardisFileTest : public testing::Test {
 protected:
  TardisFileTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_tardis_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~TardisFileTest() override { fs::remove(path_); }

  // A line whose receipt is `us` after kEpochUs, and which was sent 1 us before.
  static std::string Line(int64_t us, std::string_view fields, std::string_view symbol = "XBT") {
    return fmt::format("bitmex,{},{},{},{}\n", symbol, kEpochUs + us - 1, kEpochUs + us, fields);
  }
  std::vector<std::string> Read(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return ReadPath(path_);
  }
  std::vector<std::string> ReadPath(const fs::path& path) {
    EventTexts events;
    absl::StatusOr<std::unique_ptr<TardisFile>> file = TardisFile::Open(path);
    status_ = file.status();
    if (!file.ok()) return {};
    while (true) {
      const absl::StatusOr<bool> more = (*file)->Advance();
      status_ = more.status();
      if (!more.ok() || !*more) break;
      EXPECT_TRUE((*file)->Decode(events).ok());
    }
    counts_ = (*file)->counts();
    return events.texts;
  }
  // Reads a file whose first and last lines are good.
  void ExpectBad(std::string_view header, std::string_view good, const std::string& bad,
                 std::string_view why) {
    SCOPED_TRACE(bad);
    Read(fmt::format("{}{}{}{}", header, Line(5, good), bad, Line(9, good)));
    EXPECT_TRUE(status_.ok()) << status_;
    EXPECT_EQ(counts_.problems, 1);
    EXPECT_EQ(counts_.last_problem, fmt::format("{}: line 3: {}: {}", path_.string(), why,
                                                bad.substr(0, bad.size() - 1).substr(0, 120)));
  }

  fs::path path_;
  absl::Status status_;
  MessageCounts counts_;
};

TEST_F(TardisFileTest, TradesHaveAmountsAndTextsAsIds) {
  EXPECT_THAT(
      Read(fmt::format("{}{}{}{}", kTardisTrades, Line(5, "ccc3-4f,sell,8531.5,0.0123"),
                       Line(6, "17,buy,1e-7,2152"), Line(7, ",unknown,1,1", "ETH"))),
      ElementsAre("trade time=4000 sym=XBT seq=1 recv=5000 venue=bitmex price=8531.5 side=S "
                  "amount=0.0123 id=ccc3-4f",
                  "trade time=5000 sym=XBT seq=2 recv=6000 venue=bitmex price=1e-07 side=B "
                  "amount=2152 id=17",
                  "trade time=6000 sym=ETH seq=3 recv=7000 venue=bitmex price=1 amount=1"));
  EXPECT_EQ(counts_.decoded['T'], 3);
}

TEST_F(TardisFileTest, AnEmptySideOfAQuoteIsNull) {
  EXPECT_THAT(Read(fmt::format("{}{}{}", kTardisQuotes, Line(5, "1.5,10.2,10.1,0.25"),
                               Line(6, ",,10.1,0.25"))),
              ElementsAre("quote time=4000 sym=XBT seq=1 recv=5000 venue=bitmex bid=10.1 ask=10.2 "
                          "bamount=0.25 aamount=1.5",
                          "quote time=5000 sym=XBT seq=2 recv=6000 venue=bitmex bid=10.1 "
                          "bamount=0.25"));
}

// A snapshot begins with a row `clear`, and lines of one message are complete with the last one.
TEST_F(TardisFileTest, ChangesOfTheBookAreLevels) {
  EXPECT_THAT(
      Read(fmt::format("{}{}{}{}{}{}{}", kTardisChanges, Line(5, "true,bid,10.1,5"),
                       Line(5, "true,ask,10.2,0.5"), Line(6, "false,bid,10.1,0"),
                       Line(6, "false,bid,10,7"), Line(6, "false,bid,9,1", "ETH"),
                       Line(7, "true,ask,10.3,2"))),
      ElementsAre("level time=4000 sym=XBT seq=1 recv=5000 venue=bitmex incomplete cond=clear",
                  "level time=4000 sym=XBT seq=1 recv=5000 venue=bitmex side=B price=10.1 "
                  "incomplete cond=snapshot amount=5",
                  "level time=4000 sym=XBT seq=2 recv=5000 venue=bitmex side=S price=10.2 "
                  "cond=snapshot amount=0.5",
                  "level time=5000 sym=XBT seq=3 recv=6000 venue=bitmex side=B price=10.1 "
                  "incomplete amount=0",
                  "level time=5000 sym=XBT seq=4 recv=6000 venue=bitmex side=B price=10 amount=7",
                  "level time=5000 sym=ETH seq=5 recv=6000 venue=bitmex side=B price=9 amount=1",
                  "level time=6000 sym=XBT seq=6 recv=7000 venue=bitmex incomplete cond=clear",
                  "level time=6000 sym=XBT seq=6 recv=7000 venue=bitmex side=S price=10.3 "
                  "cond=snapshot amount=2"));
  EXPECT_EQ(counts_.decoded['L'], 6);
}

// Symbols have books of their own. Empty levels and amounts of 0 are no levels.
TEST_F(TardisFileTest, BooksAreWhatChangedInThem) {
  EXPECT_THAT(Read(fmt::format("{}{}{}{}{}", kTardisBooks, Line(5, "10.2,1,10.1,2,10.3,0,,"),
                               Line(6, ",,7,1,,,,", "ETH"), Line(7, "10.2,1,10.1,2,10.3,0,,"),
                               Line(8, "10.2,1,10.1,3,10.4,4,,"))),
              ElementsAre("quote time=4000 sym=XBT seq=1 recv=5000 venue=bitmex bid=10.1 ask=10.2 "
                          "bamount=2 aamount=1",
                          "level time=4000 sym=XBT seq=1 recv=5000 venue=bitmex side=B price=10.1 "
                          "incomplete amount=2",
                          "level time=4000 sym=XBT seq=1 recv=5000 venue=bitmex side=S price=10.2 "
                          "amount=1",
                          "quote time=5000 sym=ETH seq=2 recv=6000 venue=bitmex bid=7 bamount=1",
                          "level time=5000 sym=ETH seq=2 recv=6000 venue=bitmex side=B price=7 "
                          "amount=1",
                          "quote time=7000 sym=XBT seq=4 recv=8000 venue=bitmex bid=10.1 ask=10.2 "
                          "bamount=3 aamount=1",
                          "level time=7000 sym=XBT seq=4 recv=8000 venue=bitmex side=B price=10.1 "
                          "incomplete amount=3",
                          "level time=7000 sym=XBT seq=4 recv=8000 venue=bitmex side=S price=10.4 "
                          "amount=4"));
  EXPECT_EQ(counts_.decoded['B'], 4);
}

TEST_F(TardisFileTest, ColumnsAreFoundByName) {
  EXPECT_THAT(Read("amount,price,new,side,id,local_timestamp,timestamp,symbol,exchange\n"
                   "2,1,x,buy,7,946684800000005,,XBT,bitmex\n"),
              ElementsAre("trade sym=XBT seq=1 recv=5000 venue=bitmex price=1 side=B amount=2 "
                          "id=7"));
}

TEST_F(TardisFileTest, AHeaderThatLacksAColumnIsAnError) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "found nothing"},
      {"exchange,symbol,timestamp,local_timestamp,last_price,mark_price",
       "expected the header of incremental_book_L2, trades, quotes, book_ticker or book_snapshot, "
       "found exchange,symbol,"},
      {"exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price",
       "expected a column amount, found none in the header exchange,"},
      {"symbol,timestamp,local_timestamp,id,side,price,amount", "expected a column exchange"},
      {"exchange,symbol,timestamp,local_timestamp,id,side,price,price,amount",
       "expected a column price, found two in the header"},
      {"exchange,symbol,timestamp,local_timestamp,bid_price,bid_amount",
       "expected a column ask_price"},
      {"exchange,symbol,timestamp,local_timestamp,asks[0].price,asks[0].amount,bids[0].price",
       "expected a column bids[0].amount"},
  };
  for (const auto& [header, why] : cases) {
    SCOPED_TRACE(header);
    Read(header + "\n");
    EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(Message(status_)), HasSubstr(path_.string() + ": "));
    EXPECT_THAT(std::string(Message(status_)), HasSubstr(why));
  }
}

TEST_F(TardisFileTest, ALineThatDoesNotFitIsCountedWithItsPlace) {
  const std::string_view trade = "1,buy,1,1";
  ExpectBad(kTardisTrades, trade, Line(6, "1,buy,1"), "it has not as many fields as the header");
  ExpectBad(kTardisTrades, trade, Line(6, "1,buy,1,1,1"),
            "it has not as many fields as the header");
  ExpectBad(kTardisTrades, trade, Line(6, "1,BUY,1,1"), "its side is not buy, sell or unknown");
  ExpectBad(kTardisTrades, trade, Line(6, "1,buy,,1"), "its price is not a number");
  ExpectBad(kTardisTrades, trade, Line(6, "1,buy,nan,1"), "its price is not a number");
  ExpectBad(kTardisTrades, trade, Line(6, "1,buy,1,-1"), "its amount is not a number from 0 on");
  ExpectBad(kTardisTrades, trade, Line(6, "\x01,buy,1,1"), "its id is not ASCII");
  ExpectBad(kTardisTrades, trade, Line(6, trade, "\xff"), "its symbol is not ASCII");
  ExpectBad(kTardisTrades, trade, Line(6, trade, ""), "its symbol is not ASCII");
  ExpectBad(kTardisTrades, trade, ",XBT,1,1,1,buy,1,1\n", "its exchange is not ASCII");
  ExpectBad(kTardisTrades, trade, "bitmex,XBT,1.5,1,1,buy,1,1\n",
            "its timestamp is not in us since 1970");
  ExpectBad(kTardisTrades, trade, "bitmex,XBT,1,,1,buy,1,1\n",
            "its local_timestamp is not in us since 1970");
  ExpectBad(kTardisTrades, trade, "bitmex,XBT,1,8000000000000001,1,buy,1,1\n",
            "its local_timestamp is not in us since 1970");
  const std::string_view change = "true,bid,1,1";
  ExpectBad(kTardisChanges, change, Line(6, "1,bid,1,1"), "is_snapshot is neither true nor false");
  ExpectBad(kTardisChanges, change, Line(6, "true,buy,1,1"), "its side is neither bid nor ask");
  ExpectBad(kTardisChanges, change, Line(6, "true,bid,,1"), "its price is not a number");
  ExpectBad(kTardisChanges, change, Line(6, "true,bid,1,"), "its amount is not a number from 0 on");
  ExpectBad(kTardisQuotes, "1,1,1,1", Line(6, "1,x,1,1"), "a price or amount is not a number");
  ExpectBad(kTardisQuotes, "1,1,1,1", Line(6, "-1,1,1,1"), "an amount is negative");
  const std::string_view book = "3,1,2,1,,,,";
  ExpectBad(kTardisBooks, book, Line(6, "3,1,2,1,4,,,"), "a price or amount is not a number");
  ExpectBad(kTardisBooks, book, Line(6, "3,1,2,1,3,1,,"), "its asks are not in order");
  ExpectBad(kTardisBooks, book, Line(6, "3,1,2,1,,,2.5,1"), "its bids are not in order");
}

// Goal: a number that is cut off is never taken for another. Method: cuts a file after each byte.
TEST_F(TardisFileTest, AFileThatIsCutOffAnywhereIsAnError) {
  const std::string first = Line(5, "1,buy,12,345");
  const std::string file = fmt::format("{}{}{}", kTardisTrades, first, Line(6, "1,buy,12,345"));
  for (size_t bytes = kTardisTrades.size(); bytes < file.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    const size_t whole = (bytes - kTardisTrades.size()) / first.size();
    EXPECT_EQ(Read(file.substr(0, bytes)).size(), whole);
    if ((bytes - kTardisTrades.size()) % first.size() == 0) {
      EXPECT_TRUE(status_.ok()) << status_;
      continue;
    }
    EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(
        std::string(Message(status_)),
        HasSubstr(fmt::format("{}: byte {}: the file is cut off within line {}: ", path_.string(),
                              kTardisTrades.size() + whole * first.size(), whole + 2)));
  }
}

TEST_F(TardisFileTest, ReadsRealFiles) {
  TS_REQUIRE_FIXTURE(changes, "tardis/deribit_incremental_book_L2_BTC-PERPETUAL.csv");
  EXPECT_THAT(ReadPath(changes), testing::SizeIs(16));  // 15 lines and the row `clear`.
  EXPECT_TRUE(status_.ok()) << status_;
  TS_REQUIRE_FIXTURE(trades, "tardis/bitmex_trades_XBTUSD.csv");
  const std::vector<std::string> events = ReadPath(trades);
  ASSERT_THAT(events, testing::SizeIs(10));
  EXPECT_EQ(events[0],
            "trade time=636336003145000000 sym=XBTUSD seq=1 recv=636336003307160000 venue=bitmex "
            "price=8531.5 side=S amount=2152 id=ccc3c1fa-212c-e8b0-1706-9b9c4f3d5ecf");
  TS_REQUIRE_FIXTURE(books, "tardis/binance-futures_book_snapshot_5_BTCUSDT.csv");
  EXPECT_THAT(ReadPath(books), testing::Contains(HasSubstr("price=11655.79 ")));
  EXPECT_EQ(counts_.decoded['B'], 10);
  EXPECT_EQ(counts_.problems, 0);
}

}  // namespace
}  // namespace tickstack::feed::market
