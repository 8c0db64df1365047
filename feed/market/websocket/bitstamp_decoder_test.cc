#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "feed/market/websocket/websocket_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Changes(int64_t us, std::string_view amount) {
  return fmt::format(
      R"({{"event":"data","channel":"diff_order_book_x","data":{{"microtimestamp":"{}",)"
      R"("bids":[["5","{}"]],"asks":[]}}}})",
      946'684'800'000'000 + us, amount);
}
std::string ChangesRow(int64_t us, int64_t recv, int64_t seq, std::string_view amount,
                       std::string_view cond = "") {
  return fmt::format(
      "level time={}000 sym=x seq={} recv={} channel=diff_order_book_x side=B price=5{} amount={}",
      us, seq, recv, cond.empty() ? "" : fmt::format(" cond={}", cond), amount);
}
std::string OrderBook(int64_t us) {
  return fmt::format(R"(https://www.bitstamp.net/api/v2/order_book/x -> 946684800.000000009: )"
                     R"({{"microtimestamp":"{}","bids":[["5","1"]],"asks":[]}})",
                     946'684'800'000'000 + us);
}
std::string OrderBookRow(int64_t us, int64_t seq) {
  return fmt::format(
      "level time={}000 sym=x seq={} recv=9 channel=http side=B price=5 cond=snapshot amount=1", us,
      seq);
}

std::string OrderBookClear(int64_t us, int64_t seq) {
  return fmt::format("level time={}000 sym=x seq={} recv=9 channel=http incomplete cond=clear", us,
                     seq);
}

using BitstampDecoderTest = WebsocketTest;

TEST_F(BitstampDecoderTest, ABookBeginsWithTheAnswerAndWhatIsNewer) {
  EXPECT_THAT(
      ReadTexts("bitstamp", {Changes(1, "1"), Changes(3, "2"), OrderBook(2), Changes(4, "3")}),
      ElementsAre(ChangesRow(1, 1, 1, "1", "unsynced"), ChangesRow(3, 2, 2, "2", "unsynced"),
                  OrderBookClear(2, 3), OrderBookRow(2, 3), ChangesRow(3, 2, 2, "2"),
                  ChangesRow(4, 4, 4, "3")));
  // As in recordings by cryptofeed, which asks before it reads what it has received.
  EXPECT_THAT(
      ReadTexts("bitstamp", {OrderBook(2), Changes(1, "1"), Changes(2, "2"), Changes(3, "3")}),
      ElementsAre(OrderBookClear(2, 1), OrderBookRow(2, 1), ChangesRow(1, 2, 2, "1", "unsynced"),
                  ChangesRow(2, 3, 3, "2", "unsynced"), ChangesRow(3, 4, 4, "3")));
}

TEST_F(BitstampDecoderTest, DecodesTrades) {
  EXPECT_THAT(
      ReadTexts("bitstamp",
                {R"({"event":"trade","channel":"live_trades_x","data":{"id":7,"type":1,)"
                 R"("microtimestamp":"946684800000001","price":0.1,"price_str":"0.12",)"
                 R"("amount":2,"amount_str":"2.5"}})",
                 R"({"event":"trade","channel":"live_trades_x","data":{"id":8,"type":0,)"
                 R"("microtimestamp":"946684800000002","price":0.1,"amount":2}})",
                 R"({"event":"bts:subscription_succeeded","channel":"live_trades_x","data":{}})",
                 R"({"event":"data","channel":"other_x","data":{}})"}),
      ElementsAre("trade time=1000 sym=x seq=1 recv=1 channel=live_trades_x price=0.12 side=S "
                  "amount=2.5 id=7",
                  "trade time=2000 sym=x seq=2 recv=2 channel=live_trades_x price=0.1 side=B "
                  "amount=2 id=8"));
  EXPECT_EQ(Named("unknown_data"), 1);
}

TEST_F(BitstampDecoderTest, SaysWhatDoesNotFit) {
  for (const std::string message :
       {R"({"event":"data","channel":"diff_order_book_x","data":{}})",
        R"({"event":"data","channel":"diff_order_book_x"})",
        R"({"event":"trade","channel":"live_trades_x","data":{"microtimestamp":"1"}})",
        "https://host/api/v2/order_book/x -> 946684800.1: {}"}) {
    EXPECT_THAT(ReadTexts("bitstamp", {message}), IsEmpty()) << message;
    EXPECT_EQ(counts_.problems, 1) << message;
  }
}

TEST_F(BitstampDecoderTest, ReadsARealRecording) {
  TS_REQUIRE_FIXTURE(recorded, "crypto-ws/cryptofeed-2021-04-17/BITSTAMP.ws.19.0");
  TS_REQUIRE_FIXTURE(answers, "crypto-ws/cryptofeed-2021-04-17/BITSTAMP.http.18.0");
  EXPECT_EQ(Read("bitstamp", {recorded, answers}).size(), 14'124u + 16);
  EXPECT_EQ(counts_.gaps + counts_.problems, 0);
  EXPECT_EQ(Named("order_book"), 10);
}

}  // namespace
}  // namespace tickstack::feed::market
