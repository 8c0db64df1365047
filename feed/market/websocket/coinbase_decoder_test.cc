#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "feed/market/websocket/websocket_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Level2(int64_t number, std::string_view type, std::string_view amount) {
  return fmt::format(
      R"({{"channel":"l2_data","timestamp":"2000-01-01T00:00:02Z","sequence_num":{},"events":[)"
      R"({{"type":"{}","product_id":"X","updates":[{{"side":"bid","price_level":"5",)"
      R"("event_time":"2000-01-01T00:00:01Z","new_quantity":"{}"}}]}}]}})",
      number, type, amount);
}
std::string Level2Row(int64_t number, int64_t recv, std::string_view amount,
                      std::string_view cond = "") {
  return fmt::format(
      "level time=1000000000 sym=X seq={} recv={} channel=l2_data side=B price=5{} amount={}",
      number, recv, cond.empty() ? "" : fmt::format(" cond={}", cond), amount);
}

std::string ClearRow(int64_t number, int64_t recv) {
  return fmt::format(
      "level time=2000000000 sym=X seq={} recv={} channel=l2_data incomplete cond=clear", number,
      recv);
}

using CoinbaseDecoderTest = WebsocketTest;

TEST_F(CoinbaseDecoderTest, DecodesTheFeedOfExchange) {
  EXPECT_THAT(
      ReadTexts("coinbase",
                {R"({"type":"subscriptions","channels":[]})",
                 (R"({"type":"l2update","product_id":"X","changes":[["sell","2","3"]],)"
                  R"("time":"2000-01-01T00:00:00.5Z"})"),
                 R"({"type":"snapshot","product_id":"X","asks":[["2","3"]],"bids":[["1","4"]]})",
                 (R"({"type":"l2update","product_id":"X","changes":[["buy","1","0"],)"
                  R"(["sell","2","7"]],"time":"2000-01-01T00:00:01Z"})"),
                 (R"({"type":"match","trade_id":9,"side":"sell","size":"0.5","price":"2",)"
                  R"("product_id":"X","sequence":77,"time":"2000-01-01T00:00:02Z"})"),
                 (R"({"type":"last_match","trade_id":8,"side":"buy","size":"0.5","price":"2",)"
                  R"("product_id":"X","sequence":76,"time":"2000-01-01T00:00:02Z"})"),
                 (R"({"type":"ticker","sequence":78,"product_id":"X","best_bid":"1",)"
                  R"("best_ask":"2","time":"2000-01-01T00:00:03Z"})")}),
      ElementsAre(
          "level time=500000000 sym=X seq=2 recv=2 channel=level2 side=S price=2 cond=unsynced "
          "amount=3",
          "level sym=X seq=3 recv=3 channel=level2 incomplete cond=clear",
          "level sym=X seq=3 recv=3 channel=level2 side=B price=1 incomplete cond=snapshot "
          "amount=4",
          "level sym=X seq=3 recv=3 channel=level2 side=S price=2 cond=snapshot amount=3",
          "level time=1000000000 sym=X seq=4 recv=4 channel=level2 side=B price=1 incomplete "
          "amount=0",
          "level time=1000000000 sym=X seq=4 recv=4 channel=level2 side=S price=2 amount=7",
          "trade time=2000000000 sym=X seq=77 recv=5 channel=matches price=2 side=B amount=0.5 "
          "id=9",
          "trade time=2000000000 sym=X seq=76 recv=6 channel=matches price=2 side=S "
          "cond=last_match amount=0.5 id=8",
          "quote time=3000000000 sym=X seq=78 recv=7 channel=ticker bid=1 ask=2"));
}

TEST_F(CoinbaseDecoderTest, DecodesTheFeedOfAdvancedTrade) {
  EXPECT_THAT(
      ReadTexts(
          "coinbase",
          {Level2(0, "snapshot", "1.5"), Level2(1, "update", "0"),
           (R"({"channel":"market_trades","timestamp":"2000-01-01T00:00:02Z","sequence_num":2,)"
            R"("events":[{"type":"update","trades":[{"trade_id":"9","product_id":"X",)"
            R"("price":"5","size":"0.5","side":"BUY","time":"2000-01-01T00:00:01Z"}]}]})"),
           (R"({"channel":"ticker","timestamp":"2000-01-01T00:00:02Z","sequence_num":3,)"
            R"("events":[{"type":"snapshot","tickers":[{"product_id":"X","best_bid":"5",)"
            R"("best_bid_quantity":"1","best_ask":"6","best_ask_quantity":"2"}]}]})"),
           R"({"channel":"heartbeats","sequence_num":4,"events":[]})",
           R"({"channel":"candles","sequence_num":5,"events":[]})"}),
      ElementsAre(ClearRow(0, 1), Level2Row(0, 1, "1.5", "snapshot"), Level2Row(1, 2, "0"),
                  "trade time=1000000000 sym=X seq=2 recv=3 channel=market_trades price=5 side=S "
                  "amount=0.5 id=9",
                  "quote time=2000000000 sym=X seq=3 recv=4 channel=ticker bid=5 ask=6 bamount=1 "
                  "aamount=2"));
  EXPECT_EQ(counts_.gaps + counts_.problems, 0);
  EXPECT_EQ(Named("unknown_candles"), 1);
}

TEST_F(CoinbaseDecoderTest, MissingNumbersOfAConnectionAreAGap) {
  EXPECT_THAT(ReadTexts("coinbase", {Level2(0, "snapshot", "1"), Level2(3, "update", "2"),
                                     Level2(4, "snapshot", "3"), Level2(5, "update", "4")}),
              ElementsAre(ClearRow(0, 1), Level2Row(0, 1, "1", "snapshot"),
                          "gap time=2 seq=1 recv=2 session=a first=1 last=2 from=1 to=2 "
                          "closed=next closed_at=2",
                          Level2Row(3, 2, "2", "unsynced"), ClearRow(4, 3),
                          Level2Row(4, 3, "3", "snapshot"), Level2Row(5, 4, "4")));
  EXPECT_EQ(counts_.gaps, 1);
}

TEST_F(CoinbaseDecoderTest, AConnectionThatStartsOverIsAGapWithoutNumbers) {
  EXPECT_THAT(ReadTexts("coinbase", {Level2(0, "snapshot", "1"), Level2(1, "update", "2"),
                                     Level2(0, "update", "3")}),
              ElementsAre(ClearRow(0, 1), Level2Row(0, 1, "1", "snapshot"), Level2Row(1, 2, "2"),
                          "gap time=3 recv=3 session=a from=2 to=3 closed=connect closed_at=3",
                          Level2Row(0, 3, "3", "unsynced")));
}

TEST_F(CoinbaseDecoderTest, SaysWhatDoesNotFit) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"type":"l2update","changes":[]})",
       "l2update: product_id: expected a text, found nothing"},
      {R"({"type":"l2update","product_id":"X","changes":[["hold","1","1"]]})",
       "l2update: expected buy or sell, found \"hold\""},
      {R"({"type":"l2update","product_id":"X","changes":[],"time":"now"})",
       "l2update: time: expected a time such as 2021-04-17T16:43:37.075687Z, found \"now\""},
      {R"({"type":"snapshot","product_id":"X","bids":[]})",
       "snapshot: asks: expected an array, found nothing"},
      {R"({"type":"match","product_id":"X","sequence":1})",
       "match: price: expected a decimal number, found nothing"},
      {R"({"channel":"l2_data","events":[]})",
       "l2_data: sequence_num: expected a whole number that is not negative, found nothing"},
      {Level2(0, "all", "1"), "l2_data: type: expected snapshot or update, found \"all\""},
      {Level2(0, "update", "-1"),
       "l2_data: new_quantity: expected an amount that is not negative, found \"-1\""},
  };
  for (const auto& [message, problem] : cases) {
    EXPECT_THAT(ReadTexts("coinbase", {message}), IsEmpty()) << message;
    EXPECT_EQ(counts_.last_problem.substr(counts_.last_problem.find("line 1: ") + 8), problem);
  }
  ReadTexts("coinbase", {Level2(5, "update", "1"), Level2(5, "update", "1")});
  EXPECT_EQ(counts_.repeated, 1);
  EXPECT_EQ(Named("bad_l2_data"), 1);
}

TEST_F(CoinbaseDecoderTest, ReadsARealRecordingAndExamples) {
  TS_REQUIRE_FIXTURE(recorded, "crypto-ws/cryptofeed-2021-04-17/COINBASE.ws.28.0");
  EXPECT_EQ(Read("coinbase", {recorded}).size(), 18'091u + 107 + 107);
  EXPECT_EQ(counts_.gaps + counts_.problems, 0);
  EXPECT_EQ(Named("l2update"), 9'719);
  for (const auto& [name, rows] :
       {std::pair{"ws_l2_data_snapshot", 7u}, std::pair{"ws_l2_data_update", 2u},
        std::pair{"ws_market_trades", 2u}, std::pair{"ws_ticker", 1u}}) {
    TS_REQUIRE_FIXTURE(path, fmt::format("crypto-ws/nautilus-coinbase/{}.json", name));
    EXPECT_EQ(ReadTexts("coinbase", {OneLine(path)}).size(), rows) << name;
    EXPECT_EQ(counts_.problems, 0) << counts_.last_problem;
  }
}

}  // namespace
}  // namespace tickstack::feed::market
