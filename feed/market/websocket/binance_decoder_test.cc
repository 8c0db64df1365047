#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "feed/market/websocket/websocket_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// An update of the bid 1.5 to `amount`.
std::string Depth(int64_t first, int64_t last, int amount, std::string_view more = "") {
  return fmt::format(
      R"({{"stream":"x@depth","data":{{"e":"depthUpdate","E":946684800001,"s":"X","U":{},"u":{},)"
      R"({}"b":[["1.50","{}.0"]],"a":[]}}}})",
      first, last, more, amount);
}
std::string Book(int64_t number) {
  return fmt::format(R"({{"lastUpdateId":{},"bids":[["1.5","10"]],"asks":[["2","20"]]}})", number);
}
// How Depth looks as an event.
std::string Row(int64_t recv, int64_t last, int amount, std::string_view cond = "") {
  return fmt::format(
      "level time=1000000 sym=X seq={} recv={} channel=x@depth side=B price=1.5{} amount={}", last,
      recv, cond.empty() ? "" : fmt::format(" cond={}", cond), amount);
}
std::vector<std::string> BookRows(int64_t recv, int64_t number, std::string_view cond) {
  std::vector<std::string> rows;
  if (cond == "snapshot") {
    rows.push_back(
        fmt::format("level sym=X seq={} recv={} channel=http incomplete cond=clear", number, recv));
  }
  for (std::string row :
       {fmt::format("level sym=X seq={} recv={} channel=http side=B price=1.5 incomplete cond={} "
                    "amount=10",
                    number, recv, cond),
        fmt::format("level sym=X seq={} recv={} channel=http side=S price=2 cond={} amount=20",
                    number, recv, cond)}) {
    rows.push_back(std::move(row));
  }
  return rows;
}

class BinanceDecoderTest : public WebsocketTest {
 protected:
  std::vector<std::string> ReadAll(const std::vector<std::string>& messages) {
    return ReadTexts("binance", messages);
  }
  // Appends the rows of a book to `rows`.
  static std::vector<std::string> Joined(std::initializer_list<std::vector<std::string>> parts) {
    std::vector<std::string> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
};

TEST_F(BinanceDecoderTest, UpdatesBehindTheSnapshotAreItsBook) {
  // The second update is in the snapshot already, the first one long since.
  EXPECT_EQ(ReadAll({Depth(1, 3, 1), Depth(4, 6, 2), Book(6), Depth(7, 7, 3)}),
            Joined({{Row(1, 3, 1, "unsynced"), Row(2, 6, 2, "unsynced")},
                    BookRows(3, 6, "snapshot"),
                    {Row(4, 7, 3)}}));
  EXPECT_EQ(counts_.gaps, 0);
  EXPECT_EQ(Named("depthUpdate"), 3);
  EXPECT_EQ(Named("depth"), 1);
}

TEST_F(BinanceDecoderTest, UpdatesThatAreNewerThanALateSnapshotAreSentAgainBehindIt) {
  EXPECT_EQ(ReadAll({Depth(1, 3, 1), Depth(4, 6, 2), Depth(7, 9, 3), Book(5), Depth(10, 10, 4)}),
            Joined({{Row(1, 3, 1, "unsynced"), Row(2, 6, 2, "unsynced"), Row(3, 9, 3, "unsynced")},
                    BookRows(4, 5, "snapshot"),
                    {Row(2, 6, 2), Row(3, 9, 3), Row(5, 10, 4)}}));
}

TEST_F(BinanceDecoderTest, ASnapshotThatIsOlderThanTheFirstUpdateIsNotUsed) {
  EXPECT_EQ(
      ReadAll({Depth(8, 9, 1), Book(5), Depth(10, 10, 2)}),
      Joined(
          {{Row(1, 9, 1, "unsynced")}, BookRows(2, 5, "unsynced"), {Row(3, 10, 2, "unsynced")}}));
  EXPECT_EQ(Named("unused_snapshots"), 1);
  EXPECT_EQ(counts_.gaps, 0);
}

TEST_F(BinanceDecoderTest, ASnapshotBeforeTheFirstUpdateNeedsItsRequest) {
  const std::string request = "https://host/api/v3/depth?symbol=X&limit=5 -> 946684800.000000009: ";
  EXPECT_EQ(ReadAll({request + Book(5), Depth(4, 5, 1), Depth(6, 8, 2)}),
            Joined({BookRows(9, 5, "snapshot"), {Row(2, 5, 1, "unsynced"), Row(3, 8, 2)}}));
  EXPECT_THAT(ReadAll({Book(5)}), IsEmpty());
  EXPECT_THAT(counts_.last_problem, HasSubstr("a: byte 0: line 1: depth: neither a request"));
}

TEST_F(BinanceDecoderTest, AMissingMessageIsAGapUntilTheNextSnapshot) {
  EXPECT_EQ(
      ReadAll({Depth(1, 1, 1), Book(1), Depth(2, 2, 2), Depth(5, 6, 3), Depth(7, 7, 4), Book(7),
               Depth(8, 8, 5)}),
      Joined({{Row(1, 1, 1, "unsynced")},
              BookRows(2, 1, "snapshot"),
              {Row(3, 2, 2), Row(4, 6, 3, "unsynced"), Row(5, 7, 4, "unsynced")},
              BookRows(6, 7, "snapshot"),
              {"gap time=4 sym=X seq=3 recv=4 channel=x@depth session=a first=3 last=4 from=3 to=4 "
               "closed=snapshot closed_at=6",
               Row(7, 8, 5)}}));
  EXPECT_EQ(counts_.gaps, 1);
}

TEST_F(BinanceDecoderTest, AGapBetweenSnapshotAndFirstUpdateIsOne) {
  const std::string request = "https://host/api/v3/depth?symbol=X -> 946684800.000000001: ";
  EXPECT_THAT(ReadAll({request + Book(5), Depth(8, 9, 1)}),
              Contains("gap time=2 sym=X seq=6 recv=2 channel=x@depth session=a first=6 last=7 "
                       "from=1 to=2 closed=end closed_at=2"));
}

TEST_F(BinanceDecoderTest, EachGapIsOneOfItsOwn) {
  const std::vector<std::string> events =
      ReadAll({Depth(1, 1, 1), Depth(3, 3, 1), Depth(6, 6, 1), "wss://host <-> 946684800.000000007",
               Depth(9, 9, 1)});
  EXPECT_THAT(events, Contains("gap time=2 sym=X seq=2 recv=2 channel=x@depth session=a first=2 "
                               "last=2 from=1 to=2 closed=gap closed_at=3"));
  EXPECT_THAT(events, Contains("gap time=3 sym=X seq=4 recv=3 channel=x@depth session=a first=4 "
                               "last=5 from=2 to=3 closed=connect closed_at=7"));
  EXPECT_THAT(events, Contains("gap time=7 recv=7 session=a from=3 to=7 closed=connect "
                               "closed_at=7"));
  EXPECT_EQ(counts_.gaps, 3);
}

TEST_F(BinanceDecoderTest, ARepeatedUpdateChangesNothing) {
  EXPECT_EQ(ReadAll({Depth(1, 1, 1), Book(1), Depth(2, 2, 2), Depth(2, 2, 3), Depth(3, 3, 4)}),
            Joined({{Row(1, 1, 1, "unsynced")},
                    BookRows(2, 1, "snapshot"),
                    {Row(3, 2, 2), Row(4, 2, 3, "unsynced"), Row(5, 3, 4)}}));
  EXPECT_EQ(counts_.repeated, 1);
}

TEST_F(BinanceDecoderTest, FuturesAreChainedByThePreviousNumber) {
  EXPECT_EQ(ReadTexts("binance-futures",
                      {Depth(10, 20, 1, "\"pu\":5,"), Book(15), Depth(40, 50, 2, "\"pu\":20,"),
                       Depth(70, 80, 3, "\"pu\":60,")}),
            Joined({{Row(1, 20, 1, "unsynced")},
                    BookRows(2, 15, "snapshot"),
                    {Row(1, 20, 1), Row(3, 50, 2), Row(4, 80, 3, "unsynced")},
                    {"gap time=4 sym=X seq=51 recv=4 channel=x@depth session=a first=51 last=60 "
                     "from=3 to=4 closed=end closed_at=4"}}));
}

TEST_F(BinanceDecoderTest, DecodesTradesAndQuotes) {
  EXPECT_THAT(
      ReadAll({R"({"stream":"x@trade","data":{"e":"trade","E":946684800002,"s":"X","t":77,)"
               R"("p":"0.10","q":"3","T":946684800001,"m":true}})",
               R"({"e":"aggTrade","E":946684800002,"s":"X","a":78,"p":"0.1","q":"3","m":false})",
               R"({"u":9,"s":"X","b":"1","B":"2","a":"0.00","A":"0"})",
               R"({"e":"bookTicker","u":10,"s":"X","b":"1","B":"2","a":"3","A":"4",)"
               R"("T":946684800003,"E":946684800004})"}),
      ElementsAre("trade time=1000000 sym=X seq=1 recv=1 channel=x@trade price=0.1 side=S amount=3 "
                  "id=77",
                  "trade time=2000000 sym=X seq=2 recv=2 channel=aggTrade price=0.1 side=B "
                  "cond=aggTrade amount=3 id=78",
                  "quote sym=X seq=9 recv=3 channel=bookTicker bid=1 bamount=2 aamount=0",
                  "quote time=3000000 sym=X seq=10 recv=4 channel=bookTicker bid=1 ask=3 bamount=2 "
                  "aamount=4"));
}

TEST_F(BinanceDecoderTest, SaysWhatDoesNotFit) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"e":"trade"})", "bad_trade: s: expected a text, found nothing"},
      {R"({"e":"trade","s":"X","t":1,"p":"1x","q":"1","m":true})",
       "bad_trade: p: expected a decimal number, found \"1x\""},
      {R"({"e":"trade","s":"X","t":1,"p":"1","q":"-1","m":true})",
       "bad_trade: q: expected an amount that is not negative, found \"-1\""},
      {R"({"e":"trade","s":"X","t":1,"p":"1","q":"1","m":1})",
       "bad_trade: m: expected true or false, found \"1\""},
      {R"({"e":"trade","s":"X","t":[],"p":"1","q":"1","m":true})",
       "bad_trade: t: expected a text or a number, found an array of 0"},
      {R"({"e":"trade","E":"soon","s":"X","t":1,"p":"1","q":"1","m":true})",
       "bad_trade: E: expected a time from 1970 to 2200, found \"soon\""},
      {R"({"u":1.5,"s":"X","b":"1","B":"2","a":"3","A":"4"})",
       "bad_bookTicker: u: expected a whole number that is not negative, found \"1.5\""},
      {R"({"u":1,"s":"X","b":"inf","B":"2","a":"3","A":"4"})",
       "bad_bookTicker: b: expected a decimal number, found \"inf\""},
      {R"({"e":"depthUpdate","s":"X","U":5,"u":4,"b":[],"a":[]})",
       "bad_depthUpdate: its last number is not its largest"},
      {R"({"e":"depthUpdate","s":"X","U":5,"u":6,"b":{},"a":[]})",
       "bad_depthUpdate: b: expected an array, found an object"},
      {R"({"e":"depthUpdate","s":"X","U":5,"u":6,"b":[["1"]],"a":[]})",
       "bad_depthUpdate: expected a decimal number, found nothing"},
      {R"({"lastUpdateId":null,"bids":[],"asks":[]})",
       "bad_depth: lastUpdateId: expected a whole number that is not negative, found null"},
  };
  for (const auto& [message, problem] : cases) {
    EXPECT_THAT(ReadAll({message}), IsEmpty()) << message;
    EXPECT_EQ(counts_.problems, 1) << message;
    EXPECT_THAT("bad_" + counts_.last_problem.substr(counts_.last_problem.find("line 1: ") + 8),
                problem);
    EXPECT_EQ(Named(problem.substr(0, problem.find(':'))), 1) << message;
  }
}

TEST_F(BinanceDecoderTest, CountsWhatItDoesNotKnow) {
  EXPECT_THAT(ReadAll({R"({"stream":"x@kline_1m","data":{"e":"kline"}})",
                       R"({"stream":"x@depth20@100ms","data":{"lastUpdateId":1}})",
                       R"({"result":null,"id":1})", "[]", R"({"e":"a type that is no name"})"}),
              IsEmpty());
  EXPECT_EQ(Named("unknown_kline"), 1);
  EXPECT_EQ(Named("unknown_depth20"), 1);
  EXPECT_EQ(Named("unknown_response"), 2);
  EXPECT_EQ(Named("unknown_other"), 1);
  EXPECT_EQ(counts_.problems, 0);
}

// Cut off or damaged anywhere, a message gives what it says or is counted.
TEST_F(BinanceDecoderTest, ADamagedMessageIsCounted) {
  const std::string good = Depth(1, 3, 1);
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char byte : {'\0', '"', '{', ']', '9', '\xff'}) {
      std::string damaged = good;
      damaged[at] = byte;
      const size_t events = ReadAll({damaged, Depth(4, 4, 2)}).size();
      EXPECT_TRUE(status_.ok()) << status_;
      EXPECT_GE(events, 1u);
      int64_t counted = 0;
      for (const auto& [name, count] : counts_.named) counted += count;
      EXPECT_EQ(counted, 2) << damaged;
    }
  }
}

TEST_F(BinanceDecoderTest, RealRecordingsHaveNoGaps) {
  TS_REQUIRE_FIXTURE(recorded, "crypto-ws/cryptofeed-2021-04-17/BINANCE.ws.1.0");
  TS_REQUIRE_FIXTURE(answers, "crypto-ws/cryptofeed-2021-04-17/BINANCE.http.0.0");
  TS_REQUIRE_FIXTURE(hftbacktest, "crypto-ws/hftbacktest/spot_ethusdt_20240808.gz");
  EXPECT_EQ(Read("binance", {recorded, answers}).size(), 11'010u + 570 + 24);
  EXPECT_EQ(counts_.gaps + counts_.problems, 0);
  EXPECT_EQ(Named("depthUpdate"), 614);
  EXPECT_EQ(Named("unknown_kline"), 20);
  EXPECT_EQ(Read("binance", {hftbacktest}).size(), 108'815u + 24'077 + 6'106);
  EXPECT_EQ(counts_.gaps + counts_.problems, 0);
}

}  // namespace
}  // namespace tickstack::feed::market
