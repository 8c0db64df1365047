#include "feed/market/websocket/websocket_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "feed/market/websocket/websocket_testing.h"

namespace tickstack::feed::market {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kTicker = R"({"u":9,"s":"X","b":"1","B":"2","a":"3","A":"4"})";
std::string TickerRow(int64_t seq, int64_t recv) {
  return fmt::format("quote sym=X seq=9 recv={} channel=bookTicker bid=1 ask=3 bamount=2 aamount=4",
                     recv, seq);
}

using WebsocketRecordingTest = WebsocketTest;

TEST_F(WebsocketRecordingTest, ReadsEachFormOfALine) {
  const std::string path = Write(
      "BINANCE.ws.1.0",
      fmt::format(
          "configuration: {{}}\n"
          "wss://host <-> 946684800.1\n"
          "wss://host <- 946684800.1: {{\"method\":\"SUBSCRIBE\"}}\n"
          "946684800.0000005: {0}\r\n"
          "\n"
          "946684800000000600 {0}\n"
          "{{\"t\":\"header\",\"format\":2}}\n"
          "{{\"t\":\"send\",\"conn\":\"c\",\"ts\":946684800.1,\"data\":\"x\"}}\n"
          "{{\"t\":\"connect\",\"conn\":\"c\",\"ts\":946684800.1,\"addr\":\"wss://host\"}}\n"
          "{{\"t\":\"recv\",\"conn\":\"c\",\"ts\":946684800.0000007,\"data\":\"{1}\"}}\n",
          kTicker, R"({\"u\":9,\"s\":\"X\",\"b\":\"1\",\"B\":\"2\",\"a\":\"3\",\"A\":\"4\"})"));
  EXPECT_THAT(Read("binance", {path}),
              ElementsAre(TickerRow(1, 500), TickerRow(2, 600), TickerRow(3, 700)));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(Named("connections"), 2);
  EXPECT_EQ(counts_.problems, 0);
}

TEST_F(WebsocketRecordingTest, MergesFilesByTheTimeOfReceipt) {
  const auto lines = [](std::initializer_list<int> times) {
    std::string text;
    for (const int time : times) text += fmt::format("{} {}\n", kFirstUnixNs + time, kTicker);
    return text;
  };
  const std::vector<std::string> paths = {Write("a", lines({1, 5, 5})), Write("b", lines({2, 5})),
                                          Write("c", ""), Write("d", lines({1}))};
  std::vector<int> order;
  for (const std::string& row : Read("binance", paths)) {
    order.push_back(std::stoi(row.substr(row.find("recv=") + 5)));
  }
  EXPECT_THAT(order, ElementsAre(1, 1, 2, 5, 5, 5));
}

TEST_F(WebsocketRecordingTest, AnInterruptedConnectionIsAGap) {
  const std::string path =
      Write("a", fmt::format("wss://host <-> 946684800.000000001\n946684800.000000002: {0}\n"
                             "wss://host <-> 946684800.000000003\n946684800.000000004: {0}\n",
                             kTicker));
  EXPECT_THAT(Read("binance", {path}),
              ElementsAre(TickerRow(1, 2),
                          "gap time=3 recv=3 session=a from=2 to=3 closed=connect closed_at=3",
                          TickerRow(2, 4)));
}

TEST_F(WebsocketRecordingTest, ALineThatIsNoRecordIsCountedWithItsPlace) {
  const std::pair<std::string, std::string> cases[] = {
      {"nonsense", "expected a time, an address or a JSON object"},
      {"a b c", "expected <->, <- or -> behind an address"},
      {"12345", "expected a text behind its time"},
      {"9x: {}", "expected the seconds of its receipt, found \"9x\""},
      {"9x {}", "expected the nanoseconds of its receipt, found \"9x\""},
      {"wss://host <-> soon", "expected the seconds of its receipt, found \"soon\""},
      {"https://host -> 5", "expected a text behind its time"},
      {"{\"t\":\"recv\",", "it is no JSON"},
      {"{\"t\":\"other\",\"conn\":\"c\",\"ts\":1}",
       "t: expected header, http, connect, send or recv, found \"other\""},
      {"{\"t\":\"recv\",\"conn\":\"c\",\"ts\":1}", "data: expected a text, found nothing"},
      {"{\"t\":\"recv\",\"conn\":5,\"ts\":1,\"data\":\"x\"}", "conn: expected a text, found \"5\""},
  };
  for (const auto& [line, why] : cases) {
    const std::string path =
        Write("a", fmt::format("\n{}\n946684800.000000009: {}\n", line, kTicker));
    EXPECT_THAT(Read("binance", {path}), ElementsAre(TickerRow(1, 9))) << line;
    EXPECT_TRUE(status_.ok()) << status_;
    EXPECT_EQ(Named("bad_line"), 1) << line;
    EXPECT_THAT(counts_.last_problem, HasSubstr(path + ": byte 1: line 2: line: ")) << line;
    EXPECT_THAT(counts_.last_problem, HasSubstr(why)) << line;
  }
}

TEST_F(WebsocketRecordingTest, ATextThatIsNoJsonIsCounted) {
  EXPECT_THAT(ReadTexts("binance", {"{html}", std::string(kTicker)}), testing::SizeIs(1));
  EXPECT_EQ(Named("bad_json"), 1);
  EXPECT_THAT(counts_.last_problem, HasSubstr("line 1: json: it is no JSON: "));
}

TEST_F(WebsocketRecordingTest, AFileThatEndsWithinAMessageIsCutOff) {
  const std::string line = fmt::format("946684800.000000009: {}", kTicker);
  for (size_t bytes = 1; bytes < line.size(); ++bytes) {
    const std::string path = Write("a", line + "\n" + line.substr(0, bytes));
    EXPECT_THAT(Read("binance", {path}), ElementsAre(TickerRow(1, 9)));
    EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss) << bytes;
    const std::string place = fmt::format("{}: byte {}: line 2", path, line.size() + 1);
    EXPECT_THAT(Message(status_), HasSubstr(place + ": the file is cut off: "));
  }
  EXPECT_THAT(Read("binance", {Write("a", line)}), testing::SizeIs(1));
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(WebsocketRecordingTest, ALineMayBeLongButNotTooLong) {
  const auto file = [this](size_t bytes) {
    const std::string before =
        fmt::format("946684800.000000009: {}\n946684800.000000009: ", kTicker);
    std::string text = before + "[\"";
    text.append(bytes - (text.size() - before.size()) - 2 - 21, 'x');
    return Write("a", text + "\"]\n");
  };
  EXPECT_THAT(Read("binance", {file(RecordingFile::kRecordBytesMax)}), testing::SizeIs(1));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(Named("unknown_response"), 1);
  EXPECT_THAT(Read("binance", {file(RecordingFile::kRecordBytesMax + 1)}), testing::SizeIs(1));
  EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status_), HasSubstr("line 2 has more than 33554432 bytes"));
}

TEST_F(WebsocketRecordingTest, RefusesAnUnknownVenueAndAMissingFile) {
  Read("nyse", {Write("a", "")});
  EXPECT_THAT(Message(status_), HasSubstr("venue: expected one of binance, binance-futures"));
  Read("binance", {folder_ / "none"});
  EXPECT_EQ(status_.code(), absl::StatusCode::kNotFound);
  Read("binance", std::vector<std::string>(WebsocketRecording::kFilesMax + 1, Write("a", "")));
  EXPECT_EQ(status_.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(WebsocketRecordingTest, RewindBeginsAnew) {
  const std::string path = Write("a", fmt::format("946684800.000000009: {}\nx\n", kTicker));
  auto recording = WebsocketRecording::Open({path}, "binance");
  ASSERT_TRUE(recording.ok());
  for (int round = 0; round < 3; ++round) {
    EventTexts events;
    ASSERT_TRUE((*recording)->Rewind().ok());
    EXPECT_THAT((*recording)->counts().named, IsEmpty());
    while (*(*recording)->Advance()) ASSERT_TRUE((*recording)->Decode(events).ok());
    EXPECT_THAT(events.texts, ElementsAre(TickerRow(1, 9)));
    EXPECT_EQ((*recording)->counts().problems, 1);
  }
}

}  // namespace
}  // namespace tickstack::feed::market
