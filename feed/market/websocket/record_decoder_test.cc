#include "feed/market/websocket/record_decoder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "feed/market/event_testing.h"

namespace tickstack::feed::market {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RecordDecoderTest : public testing::Test {
 protected:
  // Begins with another decoder, which continues at the position of the last one.
  void Begin(std::string_view venue) {
    std::vector<StreamPosition> positions;
    if (decoder_ != nullptr) positions = decoder_->Positions(kConnection);
    decoder_ = *RecordDecoder::Create(venue);
    for (const StreamPosition& position : positions) decoder_->Continue(position);
  }
  RecordDecoder::Outcome Take(Record::Kind kind, int64_t recv_ns, std::string_view text = "",
                              std::string_view address = "") {
    const Record record = {kind, recv_ns, kConnection, address, text};
    return decoder_->Take(record, [] { return std::string("here"); }, events_);
  }
  RecordDecoder::Outcome Message(int64_t recv_ns, std::string_view text) {
    return Take(Record::Kind::kReceived, recv_ns, text);
  }
  void Connect(int64_t recv_ns) { Take(Record::Kind::kConnected, recv_ns); }
  // An update of Binance with these numbers.
  void Update(int64_t recv_ns, int64_t first, int64_t last) {
    Message(recv_ns, fmt::format(R"({{"e":"depthUpdate","E":946684800001,"s":"X","U":{},"u":{},)"
                                 R"("b":[["1.5","1"]],"a":[]}})",
                                 first, last));
  }
  void Book(int64_t recv_ns, int64_t number) {
    Take(Record::Kind::kAnswer, recv_ns,
         fmt::format(R"({{"lastUpdateId":{},"bids":[],"asks":[]}})", number), "/depth?symbol=X");
  }
  std::vector<std::string> Gaps() {
    std::erase_if(events_.texts, [](const std::string& text) { return !text.starts_with("gap"); });
    return std::exchange(events_.texts, {});
  }
  const BookStreams& books() const { return decoder_->venue().books(); }

  static constexpr std::string_view kConnection = "line";
  std::unique_ptr<RecordDecoder> decoder_;
  EventTexts events_;
};

TEST_F(RecordDecoderTest, ANewConnectionIsAGapFromTheLastMessageOn) {
  Begin("binance");
  Connect(1);
  Update(2, 1, 1);
  EXPECT_THAT(Gaps(), IsEmpty());
  Connect(7);
  EXPECT_THAT(Gaps(),
              ElementsAre("gap time=7 recv=7 session=line from=2 to=7 closed=connect closed_at=7"));
}

TEST_F(RecordDecoderTest, AnotherProcessContinuesTheNumbersAndKnowsTheLastMessage) {
  Begin("coinbase");
  EXPECT_THAT(decoder_->Positions(kConnection), IsEmpty());
  Connect(1);
  Message(5, R"({"type":"heartbeat"})");
  Begin("coinbase");
  Connect(9);
  EXPECT_THAT(Gaps(), ElementsAre(HasSubstr("from=5 to=9")));
  Message(10, R"({"type":"l2update","product_id":"X","time":"2000-01-01T00:00:00Z","changes":[]})");
  EXPECT_EQ(decoder_->Positions(kConnection).at(0).next_seq, 3u);
}

// Goal: a gap that was open when the process was killed is not lost. Method: its rows are not sent
// before a snapshot closes it, so the gap of the new connection must begin where it does.
TEST_F(RecordDecoderTest, AGapThatIsOpenBelongsToThatOfTheNextConnection) {
  Begin("binance");
  Connect(1);
  Update(2, 1, 1);
  Book(3, 1);
  Update(4, 2, 2);
  EXPECT_EQ(decoder_->Positions(kConnection).at(0).delivered_ns, 4);
  Update(6, 9, 9);
  Update(7, 10, 10);
  EXPECT_THAT(Gaps(), IsEmpty());
  EXPECT_EQ(decoder_->Positions(kConnection).at(0).delivered_ns, 4);
  Begin("binance");
  Connect(8);
  EXPECT_THAT(Gaps(), ElementsAre(HasSubstr("from=4 to=8")));
}

TEST_F(RecordDecoderTest, AGapAtTheFirstMessageOfABookBeginsThere) {
  Begin("kraken");
  Connect(1);
  Message(2, R"({"channel":"book","type":"snapshot","data":[{"symbol":"X","bids":[],"asks":[],)"
             R"("checksum":7}]})");
  Message(3, R"({"channel":"heartbeat"})");
  EXPECT_TRUE(books().HasBroken());
  EXPECT_EQ(decoder_->Positions(kConnection).at(0).delivered_ns, 2);
}

TEST_F(RecordDecoderTest, ABookLacksASnapshotBeforeItsFirstAndAfterAGap) {
  Begin("binance");
  EXPECT_THAT(books().SymbolsWithoutSnapshot(), IsEmpty());
  Update(2, 1, 1);
  EXPECT_THAT(books().SymbolsWithoutSnapshot(), ElementsAre("X"));
  EXPECT_FALSE(books().HasBroken());
  Book(3, 1);
  EXPECT_THAT(books().SymbolsWithoutSnapshot(), IsEmpty());
  Update(4, 5, 5);
  EXPECT_THAT(books().SymbolsWithoutSnapshot(), ElementsAre("X"));
  EXPECT_TRUE(books().HasBroken());
  Book(5, 5);
  EXPECT_FALSE(books().HasBroken());
}

TEST_F(RecordDecoderTest, SaysWhetherWhatDoesNotFitMayBeOfABook) {
  Begin("coinbase");
  EXPECT_TRUE(Message(1, "no json").concerns_books);
  EXPECT_FALSE(Message(2, R"({"type":"match","product_id":"X"})").concerns_books);
  EXPECT_TRUE(Message(3, R"({"type":"l2update","product_id":"X"})").concerns_books);
  EXPECT_EQ(Message(4, R"({"type":"candle"})").why, "");
  EXPECT_EQ(decoder_->counts().problems, 3);
  EXPECT_THAT(decoder_->counts().last_problem, HasSubstr("here: l2update: "));
}

TEST_F(RecordDecoderTest, KnowsOfWhichSymbolARequestIs) {
  const auto sym = [this](std::string_view venue, std::string_view address) {
    Begin(venue);
    return decoder_->venue().SymbolOfRequest(address);
  };
  EXPECT_EQ(sym("binance", "https://h/api/v3/depth?symbol=BTCUSDT&limit=5"), "BTCUSDT");
  EXPECT_EQ(sym("binance-futures", "https://h/fapi/v1/depth?limit=5&symbol=X"), "X");
  EXPECT_EQ(sym("bitstamp", "https://h/api/v2/order_book/btcusd/"), "btcusd");
  EXPECT_EQ(sym("kraken", "https://h/depth?symbol=X"), "");
  EXPECT_FALSE(decoder_->venue().has_requests());
}

}  // namespace
}  // namespace tickstack::feed::market
