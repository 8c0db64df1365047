#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "feed/market/websocket/websocket_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Notification(std::string_view channel, std::string_view data) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"subscription","params":{{"channel":"{}","data":{}}}}})",
      channel, data);
}
std::string DeribitBook(std::string_view type, int64_t previous, int64_t number,
                        std::string_view bids) {
  return Notification("book.X.raw",
                      fmt::format(R"({{"type":"{}","timestamp":946684800001,"instrument_name":"X",)"
                                  R"("prev_change_id":{},"change_id":{},"bids":[{}],"asks":[]}})",
                                  type, previous, number, bids));
}

class DeribitDecoderTest : public WebsocketTest {
 protected:
  std::vector<std::string> ReadShort(const std::vector<std::string>& messages) {
    std::vector<std::string> events = ReadTexts("deribit", messages);
    for (std::string& event : events) {
      for (const std::string_view common : {" sym=X", " channel=book.X.raw", " time=1000000"}) {
        if (const size_t at = event.find(common); at != std::string::npos) {
          event.erase(at, common.size());
        }
      }
    }
    return events;
  }
};

TEST_F(DeribitDecoderTest, UpdatesOfABookAreChained) {
  EXPECT_THAT(ReadShort({DeribitBook("snapshot", 0, 5, R"(["new",1.5,10.0])"),
                         DeribitBook("change", 5, 9, R"(["change",1.5,20.0],["delete",1.0,3.0])"),
                         DeribitBook("change", 5, 9, R"(["change",1.5,20.0])"),
                         DeribitBook("change", 12, 13, R"(["change",1.5,30.0])"),
                         DeribitBook("snapshot", 0, 13, "")}),
              ElementsAre("level seq=5 recv=1 incomplete cond=clear",
                          "level seq=5 recv=1 side=B price=1.5 cond=snapshot amount=10",
                          "level seq=9 recv=2 side=B price=1.5 incomplete amount=20",
                          "level seq=9 recv=2 side=B price=1 amount=0",
                          "level seq=9 recv=3 side=B price=1.5 cond=unsynced amount=20",
                          "level seq=13 recv=4 side=B price=1.5 cond=unsynced amount=30",
                          "gap time=4 seq=10 recv=4 session=a first=10 last=12 from=2 to=4 "
                          "closed=snapshot closed_at=5",
                          "level seq=13 recv=5 cond=clear"));
  EXPECT_EQ(counts_.repeated, 1);
}

TEST_F(DeribitDecoderTest, DecodesTradesAndBestPrices) {
  EXPECT_THAT(
      ReadShort(
          {Notification("trades.X.raw", R"([{"timestamp":946684800001,"price":1.5,"amount":10.0,)"
                                        R"("direction":"sell","instrument_name":"X","trade_seq":7,)"
                                        R"("trade_id":"ETH-9","liquidation":"T"}])"),
           Notification("quote.X", R"({"timestamp":946684800001,"instrument_name":"X",)"
                                   R"("best_bid_price":1.5,"best_bid_amount":2,)"
                                   R"("best_ask_price":0.0,"best_ask_amount":0.0})"),
           Notification("book.X.none.10.100ms",
                        R"({"timestamp":946684800001,"instrument_name":"X","change_id":5,)"
                        R"("bids":[[1.5,2.0]],"asks":[[2.5,3.0]]})"),
           R"({"jsonrpc":"2.0","id":1,"result":[]})", Notification("chart.trades.X.1", "{}")}),
      ElementsAre("trade seq=7 recv=1 channel=trades.X.raw price=1.5 side=S cond=T amount=10 "
                  "id=ETH-9",
                  "quote seq=2 recv=2 channel=quote.X bid=1.5 bamount=2 aamount=0",
                  "level seq=5 recv=3 channel=book.X.none.10.100ms incomplete cond=clear",
                  "level seq=5 recv=3 channel=book.X.none.10.100ms side=B price=1.5 incomplete "
                  "cond=snapshot amount=2",
                  "level seq=5 recv=3 channel=book.X.none.10.100ms side=S price=2.5 cond=snapshot "
                  "amount=3"));
  EXPECT_EQ(Named("response"), 1);
  EXPECT_EQ(Named("unknown_chart"), 1);
}

TEST_F(DeribitDecoderTest, SaysWhatDoesNotFit) {
  for (const std::string& message :
       {DeribitBook("other", 0, 5, ""), DeribitBook("change", 6, 5, ""),
        DeribitBook("snapshot", 0, 5, "5"), DeribitBook("snapshot", 0, 5, R"(["new",1.5])"),
        Notification("trades.X.raw", "{}"), Notification("quote.X", "[]")}) {
    EXPECT_THAT(ReadTexts("deribit", {message}), IsEmpty()) << message;
    EXPECT_EQ(counts_.problems, 1) << message;
  }
}

TEST_F(DeribitDecoderTest, ReadsARealRecordingAndExamples) {
  TS_REQUIRE_FIXTURE(recorded, "crypto-ws/cryptofeed-2021-04-17/DERIBIT.ws.30.0");
  EXPECT_EQ(Read("deribit", {recorded}).size(), 132u + 92);
  EXPECT_EQ(counts_.gaps + counts_.problems, 0);
  for (const auto& [name, rows] :
       {std::pair{"ws_book_snapshot", 11u}, std::pair{"ws_book_delta", 4u},
        std::pair{"ws_book_grouped_snapshot", 21u}, std::pair{"ws_quote", 1u},
        std::pair{"ws_ticker", 1u}, std::pair{"ws_trades", 2u}}) {
    TS_REQUIRE_FIXTURE(path, fmt::format("crypto-ws/nautilus-deribit/{}.json", name));
    EXPECT_EQ(ReadTexts("deribit", {OneLine(path)}).size(), rows) << name;
    EXPECT_EQ(counts_.problems, 0) << counts_.last_problem;
  }
}

}  // namespace
}  // namespace tickstack::feed::market
