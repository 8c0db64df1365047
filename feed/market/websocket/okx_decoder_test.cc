#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "feed/market/websocket/websocket_testing.h"

namespace tickstack::feed::market {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string OkxMessage(std::string_view channel, std::string_view data,
                       std::string_view action = "") {
  return fmt::format(R"({{"arg":{{"channel":"{}","instId":"X"}},{}"data":[{}]}})", channel,
                     action.empty() ? "" : fmt::format(R"("action":"{}",)", action), data);
}
// A book with the bid 1.5, or without rows if `amount` is empty.
std::string OkxBook(std::string_view action, int64_t previous, int64_t number,
                    std::string_view amount) {
  const std::string rows =
      amount.empty() ? std::string() : fmt::format(R"(["1.50","{}","0","2"])", amount);
  return OkxMessage("books",
                    fmt::format(R"({{"asks":[],"bids":[{}],"ts":"946684800001","checksum":-8,)"
                                R"("prevSeqId":{},"seqId":{}}})",
                                rows, previous, number),
                    action);
}

class OkxDecoderTest : public WebsocketTest {
 protected:
  std::vector<std::string> ReadShort(const std::vector<std::string>& messages) {
    std::vector<std::string> events = ReadTexts("okx", messages);
    for (std::string& event : events) {
      for (const std::string_view common : {" sym=X", " channel=books", " time=1000000"}) {
        if (const size_t at = event.find(common); at != std::string::npos) {
          event.erase(at, common.size());
        }
      }
    }
    return events;
  }
};

TEST_F(OkxDecoderTest, UpdatesOfABookAreChained) {
  EXPECT_THAT(ReadShort({OkxBook("snapshot", -1, 5, "10"), OkxBook("update", 5, 9, "20"),
                         OkxBook("update", 5, 9, "20"), OkxBook("update", 12, 13, "30"),
                         OkxBook("snapshot", -1, 13, "")}),
              ElementsAre("level seq=5 recv=1 incomplete cond=clear",
                          "level seq=5 recv=1 side=B price=1.5 cond=snapshot amount=10",
                          "level seq=9 recv=2 side=B price=1.5 amount=20",
                          "level seq=9 recv=3 side=B price=1.5 cond=unsynced amount=20",
                          "level seq=13 recv=4 side=B price=1.5 cond=unsynced amount=30",
                          "gap time=4 seq=10 recv=4 session=a first=10 last=12 from=2 to=4 "
                          "closed=snapshot closed_at=5",
                          "level seq=13 recv=5 cond=clear"));
  EXPECT_EQ(counts_.repeated, 1);
  EXPECT_EQ(Named("books"), 5);
}

TEST_F(OkxDecoderTest, ABookThatDoesNotChangeAndOneThatStartsOverGoOn) {
  EXPECT_THAT(
      ReadShort({OkxBook("snapshot", -1, 5, ""), OkxBook("update", 5, 5, ""),
                 OkxBook("update", 5, 3, "20"), OkxBook("update", 3, 4, "0")}),
      ElementsAre("level seq=5 recv=1 cond=clear", "level seq=3 recv=3 side=B price=1.5 amount=20",
                  "level seq=4 recv=4 side=B price=1.5 amount=0"));
  EXPECT_EQ(counts_.gaps, 0);
  EXPECT_EQ(counts_.repeated, 0);
}

TEST_F(OkxDecoderTest, ABookThatStartsOverElsewhereIsAGap) {
  EXPECT_THAT(ReadShort({OkxBook("snapshot", -1, 5, ""), OkxBook("update", 7, 3, "20"),
                         OkxBook("update", 3, 4, "0")}),
              ElementsAre("level seq=5 recv=1 cond=clear",
                          "level seq=3 recv=2 side=B price=1.5 cond=unsynced amount=20",
                          "level seq=4 recv=3 side=B price=1.5 cond=unsynced amount=0",
                          "gap time=2 recv=2 session=a from=1 to=2 closed=end closed_at=3"));
}

TEST_F(OkxDecoderTest, BeforeTheFirstSnapshotNothingIsABook) {
  EXPECT_THAT(ReadShort({OkxBook("update", 7, 8, "20")}),
              ElementsAre("level seq=8 recv=1 side=B price=1.5 cond=unsynced amount=20"));
}

TEST_F(OkxDecoderTest, DecodesTradesAndBestPrices) {
  EXPECT_THAT(
      ReadTexts("okx",
                {OkxMessage("trades", R"({"instId":"X","tradeId":"130","px":"42219.9","sz":"0.12",)"
                                      R"("side":"buy","ts":"946684800001","count":"3"})"),
                 OkxMessage("trades-all", R"({"instId":"X","tradeId":"131","px":"1","sz":"2",)"
                                          R"("side":"sell","ts":"946684800001","seqId":7})"),
                 OkxMessage("bbo-tbt", R"({"asks":[["9","415","0","13"]],"bids":[],)"
                                       R"("ts":"946684800001","seqId":8})"),
                 OkxMessage("tickers", R"({"instId":"X","last":"9","askPx":"9","askSz":"11",)"
                                       R"("bidPx":"8","bidSz":"5","ts":"946684800001"})"),
                 OkxMessage("books5", R"({"asks":[["9","1","0","1"]],"bids":[],)"
                                      R"("ts":"946684800001","seqId":9})")}),
      ElementsAre(
          "trade time=1000000 sym=X seq=1 recv=1 channel=trades price=42219.9 side=B amount=0.12 "
          "id=130",
          "trade time=1000000 sym=X seq=7 recv=2 channel=trades-all price=1 side=S amount=2 id=131",
          "quote time=1000000 sym=X seq=8 recv=3 channel=bbo-tbt ask=9 aamount=415",
          "quote time=1000000 sym=X seq=4 recv=4 channel=tickers bid=8 ask=9 bamount=5 aamount=11",
          "level time=1000000 sym=X seq=9 recv=5 channel=books5 incomplete cond=clear",
          "level time=1000000 sym=X seq=9 recv=5 channel=books5 side=S price=9 cond=snapshot "
          "amount=1"));
}

TEST_F(OkxDecoderTest, CountsWhatItDoesNotDecode) {
  EXPECT_THAT(
      ReadTexts("okx", {R"({"event":"subscribe","arg":{"channel":"books"}})",
                        R"({"event":"error","code":"60012","msg":"x"})", R"({"event":"bad_books"})",
                        OkxMessage("books-x", "[]"), OkxMessage("candle1m", "[]"), "{}",
                        OkxMessage("books", R"({"asks":[],"bids":[],"ts":"1"})", "update"),
                        OkxMessage("books", R"({"asks":[],"bids":[]})", "replace"),
                        OkxMessage("trades", R"({"instId":"X"})")}),
      IsEmpty());
  EXPECT_EQ(Named("subscribe"), 1);
  EXPECT_EQ(Named("error"), 1);
  EXPECT_EQ(Named("unknown_event"), 1);
  EXPECT_EQ(Named("unknown_books-x"), 1);
  EXPECT_EQ(Named("unknown_candle1m"), 1);
  EXPECT_EQ(Named("unknown_other"), 1);
  EXPECT_EQ(Named("bad_books"), 2);
  EXPECT_EQ(Named("bad_trades"), 1);
  EXPECT_THAT(counts_.last_problem, HasSubstr("trades: "));
}

}  // namespace
}  // namespace tickstack::feed::market
