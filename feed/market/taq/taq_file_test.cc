#include "feed/market/taq/taq_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"
#include "feed/market/event_testing.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTaqTradeHeader =
    "Time|Exchange|Symbol|Sale Condition|Trade Volume|Trade Price|Trade Stop Stock Indicator|"
    "Trade Correction Indicator|Sequence Number|Trade Id|Source of Trade|Trade Reporting Facility|"
    "Participant Timestamp|Trade Reporting Facility TRF Timestamp|Trade Through Exempt Indicator\n";
constexpr std::string_view kTaqTrade =
    "093000417837000|Z|A|@  I|300|45.88|N|00|1231|17|C||093000417230000||0\n";
constexpr std::string_view kTaqTradeEvent =
    "trade time=34200417230000 sym=A seq=1231 recv=34200417837000 channel=C venue=Z price=45.88 "
    "size=300 cond=@  I id=17";
constexpr std::string_view kTaqEndLine = "END|20161003|1||||||||||||\n";
// Records of 2014 have 96 characters.
constexpr std::string_view kTaqCountLine = " N02062014 Record Count : {:>7}{:62}\r\n";
constexpr std::string_view kTaqQuote =
    "093109362NBRK   B         000002417620000001000002741680000002R    NN0000000000383052"
    "02ACB     A\r\n";

class TaqFileTest : public testing::Test {
 protected:
  TaqFileTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_taq_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {
    settings_.day = DaysFromCivil(2016, 10, 3);
  }
  ~TaqFileTest() override { fs::remove(path_); }

  void UseDayOf2014(TaqKind kind) {
    settings_.day = DaysFromCivil(2014, 2, 6);
    settings_.kind = kind;
  }
  static std::string Count(int64_t count) {
    return fmt::format(fmt::runtime(kTaqCountLine), count, "");
  }
  static std::string FixedTrade(std::string_view time) {
    return fmt::format("{}T{:16}@  I{:09}{:011}N00{:016}NT\r\n", time, "A", 300, 458'800, 17);
  }
  std::vector<std::string> Read(std::string_view bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    EventTexts events;
    absl::StatusOr<std::unique_ptr<TaqFile>> file = TaqFile::Open(path_, settings_);
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
  std::vector<std::string> ReadTrades(std::string_view lines, int64_t count) {
    return Read(fmt::format("{}{}END|20161003|{}||\n", kTaqTradeHeader, lines, count));
  }
  std::string Error() const { return std::string(Message(status_)); }

  fs::path path_;
  TaqFileSettings settings_;
  absl::Status status_;
  MessageCounts counts_;
};

TEST_F(TaqFileTest, DelimitedTradesKeepTheBlanksOfConditions) {
  EXPECT_THAT(
      ReadTrades(fmt::format("{}{}{}", kTaqTrade,
                             "093001004985000|N|BRK B| O  |10017|45.91|N|00|1329||N||||0\n",
                             "093002099950123|D|A| 4 B|1|0.0001|N|00|1655|18446744073709551615|C|N|"
                             "093002099|093002|0\n"),
                 3),
      ElementsAre(kTaqTradeEvent,
                  "trade time=34201004985000 sym=BRK.B seq=1329 recv=34201004985000 channel=N "
                  "venue=N price=45.91 size=10017 cond= O",
                  "trade time=34202099000000 sym=A seq=1655 recv=34202099950123 channel=C venue=D "
                  "price=0.0001 size=1 cond= 4 B id=-1"));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.decoded['T'], 3);
}

// The volume of trades less that of breaks is right: a corrected trade has its new values, and
// what it had before gives no row.
TEST_F(TaqFileTest, CancelledTradesAreBreaks) {
  const auto line = [](std::string_view correction, int volume) {
    return fmt::format("093000000000000|Z|A|@|{}|1|N|{}|1|7|C||||0\n", volume, correction);
  };
  const std::string head = "time=34200000000000 sym=A seq=1 recv=34200000000000 channel=C venue=Z";
  EXPECT_THAT(ReadTrades(line("01", 1) + line("12", 2) + line("08", 3) + line("10", 3) +
                             line("07", 4) + line("11", 4),
                         6),
              ElementsAre("trade " + head + " price=1 size=1 cond=@ id=7",
                          "trade " + head + " price=1 size=3 cond=@ id=7",
                          "trade_break " + head + " price=1 size=3 cond=10 id=7",
                          "trade " + head + " price=1 size=4 cond=@ id=7",
                          "trade_break " + head + " price=1 size=4 cond=11 id=7"));
  EXPECT_EQ(counts_.decoded['T'], 3);
  EXPECT_EQ(counts_.decoded['B'], 2);
  EXPECT_EQ(counts_.decoded['C'], 1);
}

TEST_F(TaqFileTest, VolumesThatAreNotWholeNeedFloats) {
  const std::string_view line = "093000417837000|Z|A|@|0.25|45.88|N|00|1231|17|C||||0\n";
  EXPECT_THAT(ReadTrades(line, 1), ElementsAre());
  EXPECT_THAT(counts_.last_problem, HasSubstr("its volume is not whole (sizes = \"float\" takes"));
  EXPECT_EQ(counts_.bad['T'], 1);
  settings_.has_amounts = true;
  EXPECT_THAT(ReadTrades(line, 1), ElementsAre(HasSubstr("price=45.88 cond=@ id=17 amount=0.25")));
  EXPECT_THAT(ReadTrades(kTaqTrade, 1), ElementsAre(HasSubstr("amount=300")));
}

TEST_F(TaqFileTest, DelimitedQuotes) {
  EXPECT_THAT(
      Read("Time|Exchange|Symbol|Bid_Price|Bid_Size|Offer_Price|Offer_Size|Quote_Condition|"
           "Sequence_Number|Quote_Cancel_Correction|Source_Of_Quote|Participant_Timestamp|New\n"
           "093000000000001|P|A|45.87|3|45.9|2|R|11|A|C|093000000000000|x\n"
           "093000000000002|P|A|0|0|45.9|2|R|12|B|C||x\n"
           "093000000000003|P|A|||||R|13||N||x\n"
           "END|20161003|3||||||||||\n"),
      ElementsAre("quote time=34200000000000 sym=A seq=11 recv=34200000000001 channel=C venue=P "
                  "bid=45.87 ask=45.9 bsize=3 asize=2 cond=R",
                  "quote time=34200000000002 sym=A seq=12 recv=34200000000002 channel=C venue=P "
                  "ask=45.9 bsize=0 asize=2 cond=RB",
                  "quote time=34200000000003 sym=A seq=13 recv=34200000000003 channel=N venue=P "
                  "cond=R"));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.decoded['Q'], 3);
}

// Version 2.2 has one condition, 3.0 one for each side.
TEST_F(TaqFileTest, TheDelimitedNbboHasTheBestPrices) {
  const auto read = [this](std::string_view bid_condition, std::string_view ask_condition,
                           std::string_view conditions) {
    return Read(fmt::format(
        "Time|Exchange|Symbol|Bid_Price|Bid_Size|Offer_Price|Offer_Size|Sequence_Number|"
        "Quote_Cancel_Correction|Source_Of_Quote|{}|Best_Bid_Exchange|Best_Bid_Price|Best_Bid_Size|"
        "{}Best_Offer_Exchange|Best_Offer_Price|Best_Offer_Size|Participant_Timestamp\n"
        "093000000000001|P|A|1|1|2|1|11|A|C|{}|N|45.87|3|{}T|45.9|2|\nEND|20161003|1|\n",
        bid_condition, ask_condition, conditions.substr(0, 1),
        ask_condition.empty() ? "" : fmt::format("{}|", conditions.substr(1))));
  };
  const std::string quote =
      "quote time=34200000000001 sym=A seq=11 recv=34200000000001 channel=C bid=45.87 ask=45.9 "
      "bsize=3 asize=2 cond=";
  EXPECT_THAT(read("NBBO_Quote_Condition", "", "R"),
              ElementsAre(quote + "R bid_venue=N ask_venue=T"));
  EXPECT_THAT(read("Best_Bid_Quote_Condition", "Best_Offer_Quote_Condition|", "RY"),
              ElementsAre(quote + "RY bid_venue=N ask_venue=T"));
  EXPECT_TRUE(status_.ok()) << status_;
  read("Other", "", "R");
  EXPECT_THAT(Error(), HasSubstr("expected a column bestbidquotecondition, found none"));
}

TEST_F(TaqFileTest, QuotesOfFixedWidth) {
  UseDayOf2014(TaqKind::kQuote);
  const std::string empty = std::string(kTaqQuote).replace(26, 18, 18, '0');
  EXPECT_THAT(
      Read(Count(2) + std::string(kTaqQuote) + empty),
      ElementsAre("quote time=34269362000000 sym=BRK.B seq=383052 recv=34269362000000 channel=C "
                  "venue=N bid=24.1762 ask=27.4168 bsize=1 asize=2 cond=R",
                  "quote time=34269362000000 sym=BRK.B seq=383052 recv=34269362000000 channel=C "
                  "venue=N ask=27.4168 bsize=0 asize=2 cond=R"));
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(TaqFileTest, TradesAndTheNbboOfFixedWidth) {
  UseDayOf2014(TaqKind::kTrade);
  EXPECT_THAT(Read(Count(1) + FixedTrade("093000123")),
              ElementsAre("trade time=34200123000000 sym=A seq=17 recv=34200123000000 channel=N "
                          "venue=T price=45.88 size=300 cond=@  I"));
  EXPECT_TRUE(status_.ok()) << status_;
  UseDayOf2014(TaqKind::kNbbo);
  const std::string nbbo = std::string(kTaqQuote).substr(0, 89) +
                           "RP00000458700"
                           "0000003"
                           "    "
                           "  "
                           " "
                           "T00000459000"
                           "0000002"
                           "       \r\n";
  EXPECT_THAT(
      Read(Count(1) + nbbo),
      ElementsAre("quote time=34269362000000 sym=BRK.B seq=383052 recv=34269362000000 "
                  "channel=C bid=45.87 ask=45.9 bsize=3 asize=2 cond=R bid_venue=P ask_venue=T"));
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(TaqFileTest, TimesOfFixedWidthHaveMicrosecondsFrom27July2015On) {
  for (const auto& [day, time, date] :
       {std::tuple{24, "093000123", "07242015"}, std::tuple{27, "093000123456", "07272015"}}) {
    settings_.day = DaysFromCivil(2015, 7, day);
    settings_.kind = TaqKind::kTrade;
    const std::vector<std::string> events =
        Read(fmt::format(" N{} Record Count : 1\r\n{}", date, FixedTrade(time)));
    ASSERT_THAT(events, testing::SizeIs(1)) << counts_.last_problem;
    EXPECT_THAT(events[0], HasSubstr(day == 24 ? "=34200123000000 " : "=34200123456000 "));
  }
}

TEST_F(TaqFileTest, AHeaderThatLacksAColumnIsAnError) {
  Read("Time|Exchange|Symbol|Trade Price|Trade Volume\n");
  EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Error(), HasSubstr(path_.string() + ": expected a column salecondition, found none"));
  Read("093000417837000 not a header\n");
  EXPECT_THAT(Error(), HasSubstr("line 1: expected a header of columns between |, or a record"));
  Read("");
  EXPECT_THAT(Error(), HasSubstr("line 1: expected a header"));
  settings_.day = DaysFromCivil(2014, 2, 6);
  Read(Count(1) + std::string(kTaqQuote));
  EXPECT_EQ(status_.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Error(), HasSubstr("expected --kind trade, quote or nbbo"));
}

TEST_F(TaqFileTest, AnotherDayIsAnError) {
  UseDayOf2014(TaqKind::kQuote);
  settings_.day += 1;
  Read(Count(1) + std::string(kTaqQuote));
  EXPECT_EQ(status_.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Error(), path_.string() + ": the file is of 2014.02.06, --date is 2014.02.07");
  EXPECT_EQ(Read(fmt::format("{}{}{}", kTaqTradeHeader, kTaqTrade, kTaqEndLine)).size(), 1);
  EXPECT_EQ(Error(), path_.string() + ": the file is of 2016.10.03, --date is 2014.02.07");
  fs::remove(path_);
  path_ += "_20140206.gz";
  Read("");
  EXPECT_EQ(Error(), path_.string() + ": the file's name is of 2014.02.06, --date is 2014.02.07");
}

TEST_F(TaqFileTest, ALineThatDoesNotFitIsCountedWithItsPlace) {
  const std::string good(kTaqTrade);
  const auto with = [&good](std::string_view old, std::string_view now) {
    std::string line = good;
    const size_t at = line.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return line.replace(at, old.size(), now);
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {with("|0\n", "\n"), "it has not as many fields as the header"},
      {with("0930004178", "2530004178"), "its time is not a time of the day"},
      {with("0930004178", "0960004178"), "its time is not a time of the day"},
      {with("0930004178", "0930604178"), "its time is not a time of the day"},
      {with("093000417837000", "09300041783700"), "its time is not a time of the day"},
      {with("093000417230000", "x"), "its participant timestamp is not a time of the day"},
      {with("|1231|", "||"), "its sequence number is not a number"},
      {with("|A|", "||"), "its symbol is not ASCII"},
      {with("|A|", "|\x01|"), "its symbol is not ASCII"},
      {with("|Z|", "|\xff|"), "its exchange is not ASCII"},
      {with("|00|", "|02|"), "its correction indicator is not known"},
      {with("45.88", "45,88"), "its price is not a number"},
      {with("45.88", "-1"), "its price is not a number"},
      {with("|300|", "|-300|"), "its volume is not a number from 0 on"},
      {with("|17|", "|18446744073709551616|"), "its id is not a number"},
      {with("|17|", "|X17|"), "its id is not a number"},
      {with("@  I", "@\t I"), "its condition is not ASCII"},
  };
  for (const auto& [line, why] : cases) {
    SCOPED_TRACE(line);
    EXPECT_THAT(ReadTrades(good + line + good, 3), ElementsAre(kTaqTradeEvent, kTaqTradeEvent));
    EXPECT_TRUE(status_.ok()) << status_;
    EXPECT_EQ(counts_.problems, 1);
    EXPECT_EQ(counts_.last_problem, fmt::format("{}: line 3: {}: {}", path_.string(), why,
                                                line.substr(0, line.size() - 1)));
  }
}

TEST_F(TaqFileTest, ARecordOfFixedWidthThatDoesNotFitIsCounted) {
  UseDayOf2014(TaqKind::kQuote);
  const std::string good(kTaqQuote);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {good.substr(0, 80) + "\r\n", "it is shorter than its kind"},
      {good.substr(0, 95) + "\r\n", "it has not the length of the first record"},
      {std::string(good).replace(26, 1, " "), "a price is not a number"},
      {std::string(good).replace(40, 1, " "), "a size is not a number"},
  };
  for (const auto& [line, why] : cases) {
    SCOPED_TRACE(why);
    EXPECT_EQ(Read(Count(3) + good + line + good).size(), 2);
    EXPECT_TRUE(status_.ok()) << status_;
    EXPECT_THAT(counts_.last_problem, HasSubstr(": line 3: " + why + ": "));
  }
}

// Goal: a file that is cut off is never taken for a whole one. Method: cuts files after each byte.
TEST_F(TaqFileTest, AFileThatIsCutOffAnywhereIsAnError) {
  const auto expect_errors = [this](const std::string& head, const std::string& record,
                                    const std::string& end, size_t last_bytes) {
    const std::string file = head + record + record + end;
    for (size_t bytes = head.size(); bytes + last_bytes < file.size(); ++bytes) {
      SCOPED_TRACE(bytes);
      const size_t events = Read(file.substr(0, bytes)).size();
      EXPECT_FALSE(status_.ok());
      EXPECT_GE(events, std::min<size_t>(2, (bytes - head.size()) / record.size()));
      EXPECT_THAT(Error(), HasSubstr(path_.string() + ": "));
    }
    EXPECT_EQ(Read(file).size(), 2);
    EXPECT_TRUE(status_.ok()) << status_;
  };
  // Behind the count, nothing is missed.
  expect_errors(std::string(kTaqTradeHeader), std::string(kTaqTrade), "END|20161003|2|||\n", 4);
  UseDayOf2014(TaqKind::kQuote);
  expect_errors(Count(2), std::string(kTaqQuote), "", 2);
}

TEST_F(TaqFileTest, AnotherNumberOfRecordsIsAnError) {
  for (const int64_t count : {1, 2, 3}) {
    ReadTrades(kTaqTrade, count);
    EXPECT_TRUE(status_.ok()) << status_;
  }
  for (const int64_t count : {0, 4}) {
    EXPECT_EQ(ReadTrades(kTaqTrade, count).size(), 1);
    EXPECT_EQ(Error(),
              fmt::format("{}: found 1 records, expected {}: the file is cut off or damaged",
                          path_.string(), count));
  }
  Read(fmt::format("{}{}{}{}", kTaqTradeHeader, kTaqTrade, kTaqEndLine, kTaqTrade));
  EXPECT_THAT(Error(), HasSubstr(": line 4: expected the end of the file after the line END"));
  UseDayOf2014(TaqKind::kQuote);
  for (const int64_t count : {0, 2}) {
    EXPECT_EQ(Read(Count(count) + std::string(kTaqQuote)).size(), 1);
    EXPECT_THAT(Error(), HasSubstr(fmt::format("found 1 records, expected {}", count)));
  }
  EXPECT_EQ(Read(Count(1) + std::string(kTaqQuote) + Count(1) + std::string(kTaqQuote)).size(), 2);
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST(TaqName, TellsDayAndKind) {
  EXPECT_EQ(TaqDayOfName("a.b/EQY_US_ALL_TRADE_20161003.gz"), DaysFromCivil(2016, 10, 3));
  EXPECT_EQ(TaqDayOfName("taqquote20140206"), DaysFromCivil(2014, 2, 6));
  for (const char* name : {"", "taq", "x20161303.gz", "EQY_US_ALL_TRADE_201610-3", "20161003_x"}) {
    EXPECT_EQ(TaqDayOfName(name), std::nullopt) << name;
  }
  EXPECT_EQ(TaqKindOfName("EQY_US_ALL_TRADE_20161003.gz"), TaqKind::kTrade);
  EXPECT_EQ(TaqKindOfName("SPLITS_US_ALL_BBO_A_20161003.gz"), TaqKind::kQuote);
  EXPECT_EQ(TaqKindOfName("taqquote20140206"), TaqKind::kQuote);
  EXPECT_EQ(TaqKindOfName("EQY_US_ALL_NBBO_20161003"), TaqKind::kNbbo);
  EXPECT_EQ(TaqKindOfName("day"), std::nullopt);
}

}  // namespace
}  // namespace tickstack::feed::market
