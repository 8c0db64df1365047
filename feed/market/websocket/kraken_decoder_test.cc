#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "feed/market/websocket/kraken_book.h"
#include "feed/market/websocket/websocket_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The example of docs.kraken.com for version 2: its checksum is 3310070434.
constexpr std::string_view kDocumentedBook =
    R"("asks":[{"price":45285.2,"qty":0.00100000},{"price":45286.4,"qty":1.54571953},)"
    R"({"price":45286.6,"qty":1.54571109},{"price":45289.6,"qty":1.54560911},)"
    R"({"price":45290.2,"qty":0.15890660},{"price":45291.8,"qty":1.54553491},)"
    R"({"price":45294.7,"qty":0.04454749},{"price":45296.1,"qty":0.35380000},)"
    R"({"price":45297.5,"qty":0.09945542},{"price":45299.5,"qty":0.18772827}],)"
    R"("bids":[{"price":45283.5,"qty":0.10000000},{"price":45283.4,"qty":1.54582015},)"
    R"({"price":45282.1,"qty":0.10000000},{"price":45281.0,"qty":0.10000000},)"
    R"({"price":45280.3,"qty":1.54592586},{"price":45279.0,"qty":0.07990000},)"
    R"({"price":45277.6,"qty":0.03310103},{"price":45277.5,"qty":0.30000000},)"
    R"({"price":45277.3,"qty":1.54602737},{"price":45276.6,"qty":0.15445238}])";

std::string Book2(std::string_view type, std::string_view sides, std::string_view checksum) {
  return fmt::format(
      R"({{"channel":"book","type":"{}","data":[{{"symbol":"XBT/USD",{},"checksum":{}}}]}})", type,
      sides, checksum);
}
std::string Book1(std::string_view bodies, int depth = 2) {
  return fmt::format(R"([7,{},"book-{}","XBT/USD"])", bodies, depth);
}

class KrakenDecoderTest : public WebsocketTest {
 protected:
  // Reads messages, and returns the events without what all have in common.
  std::vector<std::string> ReadShort(const std::vector<std::string>& messages) {
    std::vector<std::string> events = ReadTexts("kraken", messages);
    for (std::string& event : events) {
      for (const std::string_view common :
           {" sym=XBT/USD", " channel=book-2", " time=2000000000"}) {
        if (const size_t at = event.find(common); at != std::string::npos) {
          event.erase(at, common.size());
        }
      }
    }
    return events;
  }
};

constexpr std::string_view kSnapshot1 =
    R"({"as":[["5.00","1.0","946684802"],["6.00","1.0","946684802"]],)"
    R"("bs":[["4.00","1.0","946684802"],["3.00","1.0","946684802"]]})";

TEST_F(KrakenDecoderTest, AChecksumOfTheDocumentationIsRight) {
  ReadTexts("kraken", {Book2("snapshot", kDocumentedBook, "3310070434")});
  EXPECT_EQ(Named("checksums"), 1);
  EXPECT_EQ(counts_.gaps + counts_.problems, 0);
}

TEST_F(KrakenDecoderTest, ASnapshotWithAWrongChecksumIsNoBook) {
  const std::vector<std::string> events =
      ReadTexts("kraken", {Book2("snapshot", kDocumentedBook, "3310070435"),
                           Book2("update", R"("bids":[],"asks":[{"price":45285.2,"qty":0}])", "1"),
                           Book2("snapshot", kDocumentedBook, "3310070434")});
  EXPECT_THAT(events[0], HasSubstr("cond=unsynced"));
  EXPECT_THAT(events[20], HasSubstr("cond=unsynced amount=0"));
  EXPECT_EQ(events[21],
            "gap time=1 sym=XBT/USD recv=1 channel=book session=a to=1 closed=snapshot "
            "closed_at=3");
  EXPECT_THAT(events[22], HasSubstr("cond=clear"));
  EXPECT_THAT(events[23], HasSubstr("cond=snapshot"));
  EXPECT_EQ(Named("bad_checksums"), 1);
  EXPECT_EQ(counts_.gaps, 1);
}

TEST_F(KrakenDecoderTest, ABookIsCutToItsDepth) {
  EXPECT_THAT(
      ReadShort({Book1(kSnapshot1), Book1(R"({"b":[["4.50","2.0","946684802","r"]]})"),
                 Book1(R"({"a":[["5.00","0.0","946684802"]]},{"b":[["4.50","0","946684802"]]})")}),
      ElementsAre("level seq=1 recv=1 incomplete cond=clear",
                  "level seq=1 recv=1 side=B price=4 incomplete cond=snapshot amount=1",
                  "level seq=1 recv=1 side=B price=3 incomplete cond=snapshot amount=1",
                  "level seq=1 recv=1 side=S price=5 incomplete cond=snapshot amount=1",
                  "level seq=1 recv=1 side=S price=6 cond=snapshot amount=1",
                  "level seq=2 recv=2 side=B price=4.5 incomplete amount=2",
                  "level seq=2 recv=2 side=B price=3 cond=depth amount=0",
                  "level seq=3 recv=3 side=B price=4.5 incomplete amount=0",
                  "level seq=3 recv=3 side=S price=5 amount=0"));
}

TEST_F(KrakenDecoderTest, AWrongChecksumIsAGapUntilTheNextSnapshot) {
  const std::vector<std::string> events =
      ReadShort({Book1(kSnapshot1), Book1(R"({"b":[["4.50","2.0","946684802"]],"c":"1"})"),
                 Book1(R"({"b":[["4.50","0.0","946684802"]],"c":"2"})"), Book1(kSnapshot1)});
  EXPECT_THAT(events, Contains("level seq=2 recv=2 side=B price=4.5 cond=unsynced amount=2"));
  EXPECT_THAT(events, Contains("level seq=3 recv=3 side=B price=4.5 cond=unsynced amount=0"));
  EXPECT_THAT(events, Contains("gap time=2 recv=2 session=a from=1 to=2 closed=snapshot "
                               "closed_at=4"));
  EXPECT_EQ(counts_.gaps, 1);
  EXPECT_EQ(Named("bad_checksums"), 1);
  EXPECT_EQ(events.size(), 5u + 1 + 1 + 1 + 5);
}

TEST_F(KrakenDecoderTest, AnUpdateWithoutASnapshotIsPartOfNoBook) {
  EXPECT_THAT(ReadShort({Book1(R"({"b":[["4.50","2.0","946684802"]],"c":"1"})")}),
              ElementsAre("level seq=1 recv=1 side=B price=4.5 cond=unsynced amount=2"));
  EXPECT_EQ(counts_.gaps, 0);
}

TEST_F(KrakenDecoderTest, ANewConnectionBeginsItsBooksAnew) {
  EXPECT_THAT(
      ReadShort({Book1(kSnapshot1), "wss://ws.kraken.com <-> 946684800.000000009",
                 Book1(R"({"b":[["4.50","2.0","946684802"]],"c":"1"})")}),
      testing::IsSupersetOf({"gap time=9 recv=9 session=a from=1 to=9 closed=connect closed_at=9",
                             "level seq=2 recv=3 side=B price=4.5 cond=unsynced amount=2"}));
}

TEST_F(KrakenDecoderTest, TheDepthOfVersion2IsThatOfTheSubscriptionOrTheSnapshot) {
  const std::string change =
      Book2("update", R"("asks":[{"price":45285.1,"qty":1.0}],"bids":[])", "1");
  const auto cut = [&](const std::vector<std::string>& messages) {
    int64_t rows = 0;
    for (const std::string& event : ReadTexts("kraken", messages)) {
      if (event.find("cond=depth") != std::string::npos) ++rows;
    }
    return rows;
  };
  std::string unchecked = change;
  unchecked.replace(unchecked.find(",\"checksum\":1"), 13, "");
  const std::string snapshot = Book2("snapshot", kDocumentedBook, "3310070434");
  EXPECT_EQ(cut({snapshot, unchecked}), 1);
  const std::string subscribed =
      R"({"method":"subscribe","result":{"channel":"book","depth":25,"symbol":"XBT/USD"},)"
      R"("success":true})";
  EXPECT_EQ(cut({subscribed, snapshot, unchecked}), 0);
  EXPECT_EQ(Named("response"), 1);
}

TEST_F(KrakenDecoderTest, DecodesTradesAndTickers) {
  EXPECT_THAT(
      ReadTexts(
          "kraken",
          {(R"([1,[["5.10","0.5","946684801.000002","s","l",""],)"
            R"(["5.2","0.6","946684801","b","m",""]],"trade","XBT/USD"])"),
           R"([2,{"a":["5.3",1,"1.5"],"b":["5.2",0,"0.5"],"c":["5","1"]},"ticker","XBT/USD"])",
           (R"({"channel":"trade","type":"update","data":[{"symbol":"XBT/USD","side":"buy",)"
            R"("price":5.10,"qty":0.5,"ord_type":"limit","trade_id":7,)"
            R"("timestamp":"2000-01-01T00:00:01.5Z"}]})"),
           (R"({"channel":"trade","type":"snapshot","data":[{"symbol":"XBT/USD","side":"sell",)"
            R"("price":5.1,"qty":0.5,"ord_type":"limit","trade_id":6,)"
            R"("timestamp":"2000-01-01T00:00:01Z"}]})"),
           (R"({"channel":"ticker","type":"snapshot","data":[{"symbol":"XBT/USD","bid":5.2,)"
            R"("bid_qty":0.5,"ask":5.3,"ask_qty":1.5,"timestamp":"2000-01-01T00:00:01Z"}]})")}),
      ElementsAre(
          "trade time=1000002000 sym=XBT/USD seq=1 recv=1 channel=trade price=5.1 side=S cond=l "
          "amount=0.5",
          "trade time=1000000000 sym=XBT/USD seq=1 recv=1 channel=trade price=5.2 side=B cond=m "
          "amount=0.6",
          "quote sym=XBT/USD seq=2 recv=2 channel=ticker bid=5.2 ask=5.3 bamount=0.5 aamount=1.5",
          "trade time=1500000000 sym=XBT/USD seq=3 recv=3 channel=trade price=5.1 side=B "
          "cond=limit amount=0.5 id=7",
          "trade time=1000000000 sym=XBT/USD seq=4 recv=4 channel=trade price=5.1 side=S "
          "cond=snapshot amount=0.5 id=6",
          "quote time=1000000000 sym=XBT/USD seq=5 recv=5 channel=ticker bid=5.2 ask=5.3 "
          "bamount=0.5 aamount=1.5"));
}

TEST_F(KrakenDecoderTest, SaysWhatDoesNotFit) {
  const std::pair<std::string, std::string> cases[] = {
      {"[1,2]", "array: expected at least 4 elements"},
      {R"([1,{},5,"XBT/USD"])", "array: expected a text, found \"5\""},
      {Book1("{}", 0), "book: its depth is not 1 to 1000"},
      {Book1("{}", 1001), "book: its depth is not 1 to 1000"},
      {Book1("[]"), "book: expected an object, found an array of 0"},
      {Book1(R"({"b":[["1","1"]]})"), "book: expected seconds from 1970 to 2200, found nothing"},
      {Book1(R"({"b":[],"c":"x"})"),
       "book: c: expected a whole number that is not negative, found \"x\""},
      {R"([1,[["5","1","1","x","l",""]],"trade","XBT/USD"])",
       "trade: expected b or s, found \"x\""},
      {R"([1,{"a":[]},"ticker","XBT/USD"])", "ticker: b: expected an array, found nothing"},
      {R"({"channel":"book","type":"all","data":[]})",
       "book: type: expected snapshot or update, found \"all\""},
      {R"({"channel":"book","type":"update"})", "book: data: expected an array, found nothing"},
      {R"({"method":"subscribe","result":{"channel":"book","depth":9999,"symbol":"X"}})",
       "response: depth: expected a depth of 1 to 1000, found \"9999\""},
  };
  for (const auto& [message, problem] : cases) {
    EXPECT_THAT(ReadTexts("kraken", {message}), IsEmpty()) << message;
    EXPECT_EQ(counts_.last_problem.substr(counts_.last_problem.find("line 1: ") + 8), problem);
  }
}

TEST_F(KrakenDecoderTest, AllChecksumsOfRealRecordingsAreRight) {
  TS_REQUIRE_FIXTURE(trades, "crypto-ws/cryptofeed-2021-04-17/KRAKEN.ws.48.0");
  TS_REQUIRE_FIXTURE(tickers, "crypto-ws/cryptofeed-2021-04-17/KRAKEN.ws.49.0");
  TS_REQUIRE_FIXTURE(books, "crypto-ws/cryptofeed-2021-04-17/KRAKEN.ws.50.0");
  TS_REQUIRE_FIXTURE(all, "crypto-ws/cryptofeed-v3/KRAKEN.jsonl.zst");
  std::vector<std::string> events[2];
  events[0] = Read("kraken", {trades, tickers, books});
  EXPECT_EQ(Named("checksums"), 4'269);
  EXPECT_EQ(counts_.gaps + counts_.problems, 0);
  events[1] = Read("kraken", {all});
  EXPECT_EQ(Named("checksums"), 4'269);
  EXPECT_EQ(counts_.gaps + counts_.problems, 0);
  EXPECT_EQ(events[0].size(), 11'755u + 18 + 10);
  EXPECT_EQ(events[0].size(), events[1].size());
}

// Without any one of the updates of a real book, its checksum is wrong at once or later.
TEST_F(KrakenDecoderTest, AMissingUpdateOfARealBookIsFound) {
  TS_REQUIRE_FIXTURE(books, "crypto-ws/cryptofeed-2021-04-17/KRAKEN.ws.50.0");
  std::ifstream file(books);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  for (const size_t left_out : {500u, 1'000u, 2'000u, 3'000u}) {
    std::string rest;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (i != left_out) rest += lines[i] + "\n";
    }
    Read("kraken", {Write("a", rest)});
    EXPECT_EQ(counts_.gaps, 1) << left_out << ": " << lines[left_out];
    EXPECT_EQ(Named("bad_checksums"), 1);
  }
}

}  // namespace
}  // namespace tickstack::feed::market
