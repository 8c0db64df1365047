#include "tickerplant/tickerplant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "tplog/position.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_reader.h"
#include "wire/codec.h"

namespace tickstack::tickerplant {
namespace {

using testing::HasSubstr;

constexpr int64_t kNoon = 7373 * kNsPerDay + kNsPerDay / 2;  // On 9 March 2020.

class Reader : public Outlet {
 public:
  void Queue(std::span<const wire::Segment> message) override {
    ByteBuffer whole;
    for (const wire::Segment& segment : message) whole.Append(segment.bytes);
    messages.push_back(*wire::Decode(whole.span().subspan(wire::kHeaderBytes)));
  }
  void Flush() override {}
  size_t rows() const {
    size_t sum = 0;
    for (const Value& message : messages) {
      if (message.items()[0] == Value::Symbol("upd")) sum += message.items()[2].count();
    }
    return sum;
  }
  std::vector<Value> messages;
};

class TickerplantTest : public testing::Test {
 protected:
  TickerplantTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("tickerplant_test." + std::to_string(::getpid()) + "." +
                    testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(directory_);
  }
  ~TickerplantTest() override {
    plant_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Open(bool batch = true, const std::string& zone = "UTC",
            std::optional<int32_t> date = std::nullopt) {
    const absl::Status opened = TryOpen(batch, zone, date);
    ASSERT_TRUE(opened.ok()) << opened;
  }

  absl::Status TryOpen(bool batch = true, const std::string& zone = "UTC",
                       std::optional<int32_t> date = std::nullopt) {
    plant_.reset();
    TickerplantOptions options;
    options.schemas = schemas_;
    options.log_directory = directory_;
    options.batch = batch;
    options.at_once = at_once_;
    absl::StatusOr<std::unique_ptr<Tickerplant>> opened =
        Tickerplant::Open(options, *DayClock::Create(zone, 0, date), &clock_);
    if (!opened.ok()) return opened.status();
    plant_ = *std::move(opened);
    return absl::OkStatus();
  }

  absl::Status Stage(Value message, bool numbered = false) {
    auto body = std::make_shared<ByteBuffer>();
    wire::Encode(message, *body);
    return numbered ? plant_->StageNumberedUpd(*body, body) : plant_->StageUpd(*body, body);
  }
  absl::Status Upd(std::string_view table, Value x) {
    return Stage(Value::List({Value::Symbol(".u.upd"), Value::Symbol(table), std::move(x)}));
  }
  absl::Status Updn(std::string_view feed, int64_t row, Value x, std::string_view table = "trade") {
    return Stage(Value::List({Value::Symbol(".u.updn"), Value::Symbol(feed), Value::Long(row),
                              Value::Symbol(table), std::move(x)}),
                 true);
  }
  static Value Trades(size_t rows, int64_t time_ns = kNoon) {
    SymbolVector syms;
    std::vector<int64_t> times;
    std::vector<double> prices;
    for (size_t i = 0; i < rows; ++i) {
      syms.push_back(i % 2 == 0 ? "IBM" : "AIG");
      times.push_back(time_ns + static_cast<int64_t>(i));
      prices.push_back(static_cast<double>(i));
    }
    return Value::List({Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                        Value::Symbols(syms),
                        Value::Vector(Type::kFloat, std::span<const double>(prices))});
  }
  std::vector<Value> Logged(const std::string& date = "2020.03.09") {
    std::vector<Value> messages;
    auto reader = tplog::TplogReader::Open(directory_ + "/sym" + date);
    EXPECT_TRUE(reader.ok()) << reader.status();
    while (true) {
      const auto message = (*reader)->Next();
      EXPECT_TRUE(message.ok()) << message.status();
      if (!message.ok() || !message->has_value()) return messages;
      messages.push_back(*wire::Decode((*message)->body));
    }
  }

  const std::string directory_;
  ManualClock clock_{kNoon};
  std::vector<Schema> schemas_ = {*ParseSchema("trade", "time p, sym s, price f"),
                                  *ParseSchema("span", "time n, sym s, size j")};
  std::vector<std::string> at_once_;
  std::unique_ptr<Tickerplant> plant_;
};

TEST_F(TickerplantTest, LogsWhatCameAndPublishesOnTheTimer) {
  Open();
  Reader reader;
  ASSERT_TRUE(plant_->Subscribe("", {&reader, {}, false}).ok());
  ASSERT_TRUE(Upd("trade", Trades(3)).ok());
  ASSERT_TRUE(Upd("trade", Trades(2)).ok());
  EXPECT_EQ(plant_->logged_seq(), 0u);
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_EQ(plant_->logged_seq(), 2u);
  EXPECT_EQ(plant_->published_seq(), 0u);
  EXPECT_EQ(reader.messages.size(), 0u);
  plant_->Publish();
  EXPECT_EQ(plant_->published_seq(), 2u);
  ASSERT_EQ(reader.messages.size(), 1u);
  EXPECT_EQ(reader.rows(), 5u);
  EXPECT_THAT(
      Logged(),
      testing::ElementsAre(Value::List({Value::Symbol("upd"), Value::Symbol("trade"), Trades(3)}),
                           Value::List({Value::Symbol("upd"), Value::Symbol("trade"), Trades(2)})));
}

TEST_F(TickerplantTest, PublishesAtOnceInZeroLatencyMode) {
  Open(/*batch=*/false);
  Reader reader;
  ASSERT_TRUE(plant_->Subscribe("trade", {&reader, {}, false}).ok());
  ASSERT_TRUE(Upd("trade", Trades(3)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_EQ(reader.rows(), 3u);
  EXPECT_EQ(plant_->published_seq(), 1u);
}

TEST_F(TickerplantTest, PublishesATableAtOnceWhileOthersWait) {
  at_once_ = {"span"};
  Open();
  Reader plain, numbered;
  ASSERT_TRUE(plant_->Subscribe("", {&plain, {}, false}).ok());
  ASSERT_TRUE(plant_->Subscribe("", {&numbered, {}, true}).ok());
  const Value span = Value::List({Value::Timespan(1), Value::Symbol("IBM"), Value::Long(5)});
  ASSERT_TRUE(Upd("trade", Trades(3)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_EQ(plain.messages.size(), 0u);
  ASSERT_TRUE(Upd("span", span).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  ASSERT_EQ(plain.messages.size(), 1u);
  EXPECT_EQ(plain.messages[0].items()[1], Value::Symbol("span"));
  ASSERT_EQ(numbered.messages.size(), 1u);
  EXPECT_EQ(numbered.messages[0].items()[3], Value::Long(-1)) << "ahead of message 0";
  plant_->Publish();
  ASSERT_EQ(plain.messages.size(), 2u);
  EXPECT_EQ(plain.messages[1].items()[2].count(), 3u);
  EXPECT_EQ(numbered.messages[1].items()[3], Value::Long(2));
  ASSERT_TRUE(Upd("span", span).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_EQ(numbered.messages[2].items()[3], Value::Long(-1 - 2));
  EXPECT_EQ(plant_->published_seq(), 2u);
}

TEST_F(TickerplantTest, WhoIsAheadHasRowsWhenTheyAreLogged) {
  Open();
  Reader ahead, reader;
  ASSERT_TRUE(plant_->Subscribe("", {&ahead, {}, true, true}).ok());
  ASSERT_TRUE(plant_->Subscribe("", {&reader, {}, true}).ok());
  const auto numbers = [](const Reader& of) {
    std::vector<int64_t> all;
    for (const Value& message : of.messages) all.push_back(message.items()[3].as<int64_t>());
    return all;
  };
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Upd("trade", Trades(3)).ok());
    ASSERT_TRUE(plant_->Commit().ok());
  }
  EXPECT_EQ(ahead.rows(), 6u);
  EXPECT_EQ(reader.rows(), 0u);
  plant_->Publish();
  ASSERT_TRUE(Upd("trade", Trades(1)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_THAT(numbers(ahead), testing::ElementsAre(-1, -1, -3)) << "of the publication before";
  EXPECT_THAT(numbers(reader), testing::ElementsAre(2));
  EXPECT_EQ(ahead.rows(), 7u) << "and nothing of it twice";
  plant_->Publish();
  // A subscription replaces the one to its own table only.
  ASSERT_TRUE(plant_->Subscribe("span", {&ahead, {}, true}).ok());
  ASSERT_TRUE(Upd("trade", Trades(5)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_EQ(ahead.rows(), 12u);
  ASSERT_TRUE(plant_->Subscribe("trade", {&ahead, {}, true}).ok());
  ASSERT_TRUE(Upd("trade", Trades(2)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_EQ(ahead.rows(), 12u);
  plant_->Publish();
  EXPECT_EQ(ahead.rows(), 14u);
  EXPECT_EQ(reader.rows(), 14u);
}

// A batch that is published early, in the middle of a commit, changes the number; rows that were
// sent ahead before it have the previous number.
TEST_F(TickerplantTest, WhatIsAheadIsNumberedByWhatWasPublishedWhenItCame) {
  Open();
  Reader ahead, reader;
  ASSERT_TRUE(plant_->Subscribe("", {&ahead, {}, true, true}).ok());
  ASSERT_TRUE(plant_->Subscribe("", {&reader, {}, true}).ok());
  tplog::Position position;
  const size_t many = 100'000;  // More than publish_bytes.
  for (const char* const feed : {"one", "two", "three"}) {
    ASSERT_TRUE(Updn(feed, 0, Trades(many)).ok());
  }
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_EQ(plant_->published_seq(), 3u);
  EXPECT_EQ(ahead.rows(), 3 * many);
  for (const Value& message : ahead.messages) {
    EXPECT_TRUE(position.OnPublished("trade", message.items()[2].count(),
                                     message.items()[3].as<int64_t>()));
  }
  EXPECT_EQ(position.seq(), 2u) << "the third is of the messages behind the second publication";
  EXPECT_EQ(position.RowsHere("trade", 2 * many), many);
}

TEST_F(TickerplantTest, AheadMeansNothingWithoutBatches) {
  Open(/*batch=*/false);
  Reader ahead;
  ASSERT_TRUE(plant_->Subscribe("", {&ahead, {}, true, true}).ok());
  ASSERT_TRUE(Upd("trade", Trades(3)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  ASSERT_EQ(ahead.messages.size(), 1u);
  EXPECT_EQ(ahead.messages[0].items()[3], Value::Long(1));
}

TEST_F(TickerplantTest, KnowsTheTablesThatArePublishedAtOnce) {
  at_once_ = {"bars"};
  EXPECT_THAT(Message(TryOpen()), HasSubstr("at_once: no table bars"));
}

TEST_F(TickerplantTest, PublishesEarlyWhenMuchIsWaiting) {
  Open();
  Reader reader;
  ASSERT_TRUE(plant_->Subscribe("trade", {&reader, {}, false}).ok());
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(Upd("trade", Trades(3000)).ok());
    ASSERT_TRUE(plant_->Commit().ok());
  }
  EXPECT_GT(reader.rows(), 30'000u);
  plant_->Publish();
  EXPECT_EQ(reader.rows(), 90'000u);
}

TEST_F(TickerplantTest, TakesAtomsTablesAndRows) {
  Open();
  Reader reader;
  ASSERT_TRUE(plant_->Subscribe("trade", {&reader, {}, false}).ok());
  const Value atoms = Value::List({Value::Timestamp(kNoon), Value::Symbol("A"), Value::Float(1)});
  ASSERT_TRUE(Upd("trade", atoms).ok());
  const Value table = Value::Table(
      {"price", "sym", "time"},
      {Value::Vector(Type::kFloat, std::span<const double>(std::vector<double>{2, 3})),
       Value::Symbols({"B", "C"}),
       Value::Vector(Type::kTimestamp, std::span<const int64_t>(std::vector<int64_t>{1, 2}))});
  ASSERT_TRUE(Upd("trade", table).ok());
  ASSERT_TRUE(Upd("trade", Value::List({atoms, atoms})).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  plant_->Publish();
  ASSERT_EQ(reader.messages.size(), 1u);
  const Value rows = reader.messages[0].items()[2];
  EXPECT_EQ(*rows.FindColumn("sym"), Value::Symbols({"A", "B", "C", "A", "A"}));
  EXPECT_THAT(rows.FindColumn("price")->span<double>(), testing::ElementsAre(1, 2, 3, 1, 1));
  // The log has atoms unchanged, and columns where kdb+'s insert would not take the value by
  // position.
  EXPECT_EQ(Logged()[0].items()[2], atoms);
  EXPECT_EQ(Logged()[1].items()[2].items()[1], Value::Symbols({"B", "C"}));
}

// Data frames have no type for chars, and some clients send symbols as a list of atoms.
TEST_F(TickerplantTest, TakesListsOfAtomsAndOfStringsOfOneChar) {
  schemas_.push_back(*ParseSchema("mark", "time p, sym s, mark c"));
  Open();
  const Value times = Value::Vector(
      Type::kTimestamp, std::span<const int64_t>(std::vector<int64_t>{kNoon, kNoon, kNoon}));
  const Value symbols = Value::List({Value::Symbol("A"), Value::Symbol("B"), Value::Symbol("")});
  const Value marks = Value::List({Value::String("@"), Value::Char('N'), Value::String("")});
  const Value columns = Value::List({times, symbols, marks});
  ASSERT_TRUE(Upd("mark", columns).ok());
  ASSERT_TRUE(Upd("mark", Value::Table({"mark", "sym", "time"}, {marks, symbols, times})).ok());
  ASSERT_TRUE(Updn("f", 0, columns, "mark").ok());
  ASSERT_TRUE(Updn("f", 0, columns, "mark").ok());
  const Value row = Value::List({Value::Timestamp(kNoon), Value::Symbol("C"), Value::String("T")});
  ASSERT_TRUE(Upd("mark", row).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(0, 0, 3));

  const std::vector<Value> logged = Logged();
  ASSERT_EQ(logged.size(), 4u);
  const Value vectors = Value::List({times, Value::Symbols({"A", "B", ""}), Value::String("@N ")});
  for (size_t message = 0; message < 3; ++message) {
    EXPECT_EQ(logged[message].items()[2], vectors) << message;
  }
  EXPECT_EQ(logged[3].items()[2].items()[2], Value::String("T"));
}

TEST_F(TickerplantTest, RefusesListsOfOtherItemsByTheirNumber) {
  schemas_.push_back(*ParseSchema("mark", "time p, sym s, mark c"));
  Open();
  const auto refusal = [this](Value sym, Value mark) {
    const Value times = Value::Vector(Type::kTimestamp,
                                      std::span<const int64_t>(std::vector<int64_t>{kNoon, kNoon}));
    return std::string(
        Message(Upd("mark", Value::List({times, Value::List({Value::Symbol("A"), std::move(sym)}),
                                         Value::List({Value::Char('N'), std::move(mark)})}))));
  };
  const Value b = Value::Symbol("B");
  EXPECT_EQ(refusal(b, Value::String("NY")),
            "type: mark.mark is list, expected char: item 1 is a string of length 2");
  EXPECT_EQ(refusal(b, b), "type: mark.mark is list, expected char: item 1 is a symbol atom");
  EXPECT_EQ(refusal(Value::String("B"), Value::Char('N')),
            "type: mark.sym is list, expected symbol: item 1 is a string of length 1");
  EXPECT_EQ(refusal(Value::List({}), Value::Char('N')),
            "type: mark.sym is list, expected symbol: item 1 is of type list");
  EXPECT_FALSE(plant_->has_staged());
}

TEST_F(TickerplantTest, StampsWhatHasNoTime) {
  Open(true, "America/New_York");
  ASSERT_TRUE(
      Upd("trade", Value::List({Value::Symbols({"A", "B"}),
                                Value::Vector(Type::kFloat,
                                              std::span<const double>(std::vector<double>{2, 3}))}))
          .ok());
  ASSERT_TRUE(Upd("span", Value::List({Value::Symbol("A"), Value::Long(5)})).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  const std::vector<Value> logged = Logged();
  EXPECT_THAT(logged[0].items()[2].items()[0].span<int64_t>(), testing::ElementsAre(kNoon, kNoon));
  // A timespan is local time of day: noon UTC is 8 o'clock in New York.
  EXPECT_EQ(logged[1].items()[2].items()[0].span<int64_t>()[0], 8 * 3600 * kNsPerSecond);
}

// Goal: a client without a type for chars can fill a column of chars. Method: strings of one
// character, in each form of an upd, are logged as chars.
TEST_F(TickerplantTest, TakesStringsOfOneCharacterAsChars) {
  schemas_.push_back(*ParseSchema("codes", "sym s, code c, size j"));
  Open();
  const auto row = [](Value code) {
    return Value::List({Value::Symbol("A"), std::move(code), Value::Long(5)});
  };
  const auto columns = [](Value codes) {
    return Value::List(
        {Value::Symbols({"A", "B", "C"}), std::move(codes), Value::Longs({1, 2, 3})});
  };
  const Value strings = Value::List({Value::String("N"), Value::Char('Q'), Value::String("")});
  ASSERT_TRUE(Upd("codes", columns(strings)).ok());
  ASSERT_TRUE(Upd("codes", columns(Value::String("xyz"))).ok());
  ASSERT_TRUE(Upd("codes", row(Value::String("R"))).ok());
  ASSERT_TRUE(Upd("codes", Value::Table({"size", "code", "sym"}, {Value::Longs({1, 2, 3}), strings,
                                                                  Value::Symbols({"A", "B", "C"})}))
                  .ok());
  ASSERT_TRUE(plant_->Commit().ok());
  const std::vector<Value> logged = Logged();
  EXPECT_EQ(logged[0].items()[2], columns(Value::String("NQ ")));
  EXPECT_EQ(logged[1].items()[2], columns(Value::String("xyz")));
  EXPECT_EQ(logged[2].items()[2].items()[1], Value::String("R"));
  EXPECT_EQ(logged[3].items()[2], columns(Value::String("NQ ")));

  const auto error_of = [&](Value item) {
    const Value codes = Value::List({Value::String("N"), std::move(item), Value::String("N")});
    return std::string(Message(Upd("codes", columns(codes))));
  };
  EXPECT_EQ(error_of(Value::String("NY")),
            "type: codes.code is list, expected char: item 1 is a string of length 2");
  EXPECT_EQ(error_of(Value::Long(1)),
            "type: codes.code is list, expected char: item 1 is a long atom");
  EXPECT_EQ(plant_->counters().upds_refused, 2u);
}

TEST_F(TickerplantTest, RefusesWhatDoesNotFitTheSchemaAndCountsIt) {
  Open();
  const auto text = [](const absl::Status& status) { return std::string(Message(status)); };
  EXPECT_THAT(text(Upd("nosuch", Trades(1))), HasSubstr("nosuch"));
  EXPECT_THAT(text(Upd("trade", Value::List({Value::Longs({1})}))),
              HasSubstr("length: 1 columns, table trade has 3"));
  Value wrong = Trades(2);
  wrong.mutable_items()[2] = Value::Longs({1, 2});
  EXPECT_THAT(text(Upd("trade", wrong)), HasSubstr("type: trade.price is long, expected float"));
  Value ragged = Trades(2);
  ragged.mutable_items()[2] =
      Value::Vector(Type::kFloat, std::span<const double>(std::vector<double>{2}));
  EXPECT_EQ(text(Upd("trade", ragged)),
            "length: column 2 (price) has 1 rows, column 0 (time) has 2");
  ragged.mutable_items()[2] = Value::Float(2);
  EXPECT_THAT(text(Upd("trade", ragged)), testing::StartsWith("column 2 (price): byte "));
  EXPECT_FALSE(Upd("trade", Value::Long(1)).ok());
  EXPECT_FALSE(Upd("trade", Value::List({})).ok());
  EXPECT_FALSE(
      Upd("trade", Value::Table({"time", "sym"}, {Value::Vector(Type::kTimestamp, ByteBuffer()),
                                                  Value::Symbols({})}))
          .ok());
  EXPECT_FALSE(Stage(Value::List({Value::Symbol(".u.upd")})).ok());
  EXPECT_EQ(plant_->counters().upds_refused, 9u);
  EXPECT_FALSE(plant_->has_staged());
}

// Goal: what the end of the day could not write is refused when it comes, in each form of an upd.
TEST_F(TickerplantTest, RefusesWhatADatabaseCannotStoreByColumnAndRow) {
  schemas_.push_back(*ParseSchema("notes", "time p, note *"));
  Open();
  const Value time = Value::AtomFromBytes(Type::kTimestamp, std::as_bytes(std::span(&kNoon, 1)));
  const int64_t two_times[] = {kNoon, kNoon};
  const Value times = Value::Vector(Type::kTimestamp, std::span<const int64_t>(two_times));
  const Value inside = Value::List({Value::Long(1), Value::List({Value()})});
  const Value fits = Value::List({Value::Long(1), Value::String("a")});
  for (const Value& bad : {Value(), inside}) {
    const std::vector<Value> forms = {
        Value::List({times, Value::List({Value::String("a"), bad})}), Value::List({time, bad}),
        Value::List({Value::List({time, fits}), Value::List({time, bad})}),
        Value::Table({"time", "note"}, {times, Value::List({fits, bad})}),
        Value::List({Value::List({Value::String("a"), bad})})};
    for (const Value& form : forms) {
      const absl::Status refused = Upd("notes", form);
      EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
      EXPECT_THAT(std::string(Message(refused)), HasSubstr("type: notes.note: row"));
      EXPECT_THAT(std::string(Message(refused)), HasSubstr("has ::"));
    }
    EXPECT_FALSE(Updn("f", 0, forms.front(), "notes").ok());
  }
  EXPECT_EQ(plant_->counters().upds_refused, 12u);
  EXPECT_EQ(plant_->FeedRows("f")[2], 0);
  ASSERT_TRUE(Upd("notes", Value::List({time, fits})).ok());
  ASSERT_TRUE(Upd("notes", Value::List({times, Value::List({fits, Value::Symbol("a")})})).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_EQ(plant_->logged_seq(), 2u);
}

TEST_F(TickerplantTest, TakesEachNumberedRowOnce) {
  Open();
  ASSERT_TRUE(Updn("f", 0, Trades(4)).ok());
  ASSERT_TRUE(Updn("f", 0, Trades(4)).ok());  // All of it again.
  ASSERT_TRUE(Updn("f", 2, Trades(4)).ok());  // Two known, two new.
  ASSERT_TRUE(Updn("g", 0, Trades(1)).ok());  // Another feed has its own numbers.
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(6, 0));
  EXPECT_THAT(plant_->FeedRows("g"), testing::ElementsAre(1, 0));
  EXPECT_EQ(plant_->counters().rows_duplicated, 6u);
  const std::vector<Value> logged = Logged();
  ASSERT_EQ(logged.size(), 3u);
  EXPECT_THAT(logged[1].items()[2].items()[2].span<double>(), testing::ElementsAre(2, 3));
  const absl::Status gap = Updn("f", 9, Trades(1));
  EXPECT_THAT(std::string(Message(gap)), HasSubstr("gap: feed f sends row 9 of trade, expected 6"));
  EXPECT_FALSE(Updn("f", -1, Trades(1)).ok());
}

TEST_F(TickerplantTest, RemembersFeedsAcrossARestart) {
  Open();
  ASSERT_TRUE(Updn("f", 0, Trades(4)).ok());
  ASSERT_TRUE(Upd("trade", Trades(2)).ok());
  ASSERT_TRUE(Updn("f", 4, Trades(3)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  Open();
  EXPECT_EQ(plant_->logged_seq(), 3u);
  EXPECT_EQ(plant_->published_seq(), 3u);
  EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(7, 0));
}

TEST_F(TickerplantTest, EndsTheDayOnceAndGoesOnInANewLog) {
  Open();
  Reader reader;
  ASSERT_TRUE(plant_->Subscribe("trade", {&reader, {}, false}).ok());
  ASSERT_TRUE(Updn("f", 0, Trades(4)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  clock_.Advance(kNsPerDay / 2 - 1);
  EXPECT_FALSE(*plant_->RollIfDue());
  clock_.Advance(1);
  EXPECT_TRUE(*plant_->RollIfDue());
  EXPECT_FALSE(*plant_->RollIfDue());
  ASSERT_EQ(reader.messages.size(), 2u);  // The pending rows, then the end.
  EXPECT_EQ(reader.messages[1], Value::List({Value::Symbol(".u.end"), Value::Date(7373)}));
  EXPECT_EQ(plant_->logged_seq(), 0u);
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.10");
  EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(4, 0));
  ASSERT_TRUE(Updn("f", 4, Trades(1)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_EQ(Logged("2020.03.10").size(), 1u);
  // After a restart on the new day, it still knows.
  Open();
  EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(5, 0));
}

TEST_F(TickerplantTest, KnowsSinceWhenADayIsOverAndTablesAndFeedsAreSilent) {
  Open();
  EXPECT_EQ(plant_->OverdueNs(), 0);
  clock_.Advance(7);
  ASSERT_TRUE(Updn("f", 0, Trades(4)).ok());
  EXPECT_EQ(plant_->activity().table_ns(0), Activity::kNever) << "the rows are not logged yet";
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_EQ(plant_->activity().table_ns(0), clock_.MonotonicNs());
  EXPECT_EQ(plant_->activity().table_ns(1), Activity::kNever);
  EXPECT_EQ(plant_->activity().feed_ns().at("f"), clock_.MonotonicNs());
  EXPECT_THAT(plant_->rows_logged(), testing::ElementsAre(4, 0));
  clock_.Advance(kNsPerDay / 2);
  EXPECT_EQ(plant_->OverdueNs(), 7);
  EXPECT_TRUE(*plant_->RollIfDue());
  EXPECT_EQ(plant_->OverdueNs(), 0);
  EXPECT_TRUE(plant_->activity().feed_ns().empty()) << "another day may have other feeds";
}

TEST_F(TickerplantTest, RemembersFeedsWhenItWasDownOverMidnight) {
  Open();
  ASSERT_TRUE(Updn("f", 0, Trades(4)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  plant_.reset();
  clock_.Advance(3 * kNsPerDay);
  Open();
  EXPECT_EQ(plant_->logged_seq(), 0u);
  EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(4, 0));
}

// Goal: feeds do not number their rows from 0 again because the directory of the logs cannot be
// read. Method: the directory is a link that leads to itself.
TEST_F(TickerplantTest, DoesNotStartIfItCannotLookForLogs) {
  std::filesystem::create_symlink(directory_, directory_);
  TickerplantOptions options;
  options.log_directory = directory_;
  const absl::StatusOr<std::string> log =
      Tickerplant::LogToOpen(options, *DayClock::Create("UTC", 0, std::nullopt), &clock_);
  EXPECT_THAT(Message(log.status()), HasSubstr("opendir: Too many levels of symbolic links"));
}

TEST_F(TickerplantTest, DoesNotRollAgainWhenTheClockIsSetBack) {
  Open();
  clock_.Advance(kNsPerDay);
  EXPECT_TRUE(*plant_->RollIfDue());
  clock_.Advance(-kNsPerDay / 2 - 10);
  EXPECT_FALSE(*plant_->RollIfDue());
  clock_.Advance(kNsPerDay / 2 + 10);
  EXPECT_FALSE(*plant_->RollIfDue());
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.10");
}

TEST_F(TickerplantTest, RemembersNoFeedWhoseRowsItRefused) {
  Open();
  EXPECT_FALSE(Updn("stranger", 7, Trades(1)).ok());
  EXPECT_FALSE(Updn(std::string(5000, 'f'), 0, Trades(1)).ok());
  EXPECT_FALSE(plant_->has_staged());
  EXPECT_THAT(plant_->FeedRows("stranger"), testing::ElementsAre(0, 0));
}

TEST_F(TickerplantTest, ADayThatWasEndedByHandStaysEnded) {
  Open();
  ASSERT_TRUE(Updn("f", 0, Trades(4)).ok());
  ASSERT_TRUE(plant_->EndDay().ok());
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.10");
  EXPECT_FALSE(plant_->EndDay().ok());  // Tomorrow has not begun yet.
  ASSERT_TRUE(Updn("f", 4, Trades(3)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  Open();
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.10");
  EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(7, 0));
}

// Goal: a fixed day never ends by the clock, and stays ended once a request ended it: a restart
// with the same date takes the rows of the next day.
TEST_F(TickerplantTest, AFixedDayThatWasEndedStaysEnded) {
  Open(true, "UTC", 7373);
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.09");
  clock_.Advance(10 * kNsPerDay);
  EXPECT_FALSE(*plant_->RollIfDue());
  ASSERT_TRUE(Updn("f", 0, Trades(4)).ok());
  ASSERT_TRUE(plant_->EndDay().ok());
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.10");
  EXPECT_FALSE(plant_->EndDay().ok());
  ASSERT_TRUE(Updn("f", 4, Trades(3)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  Open(true, "UTC", 7373);
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.10");
  EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(7, 0));
}

// Goal: no log gets rows of two schemas of one table. Method: the type of a column has changed when
// the tickerplant starts again within the day, and on the next day.
TEST_F(TickerplantTest, DoesNotStartWithAnotherSchemaThanTheRowsOfItsDay) {
  Open();
  ASSERT_TRUE(Updn("f", 0, Trades(4)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  plant_ = nullptr;
  const auto open = [&](std::string_view trade) {
    TickerplantOptions options;
    options.schemas = {*ParseSchema("trade", trade), *ParseSchema("other", "time n, sym s")};
    options.log_directory = directory_;
    return Tickerplant::Open(std::move(options), *DayClock::Create("UTC", 0, std::nullopt), &clock_)
        .status();
  };
  const absl::Status refused = open("time p, sym s, price j");
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(refused)),
              testing::AllOf(testing::HasSubstr("message 0 has rows of trade that do not fit"),
                             testing::HasSubstr("price")));
  EXPECT_TRUE(open("time p, sym s, price f").ok());
  clock_.Advance(kNsPerDay);
  EXPECT_TRUE(open("time p, sym s, price j").ok());
}

// Returns the bytes that this process has read by system calls; nullopt if the kernel does not
// count them.
std::optional<uint64_t> BytesRead() {
  std::ifstream counters("/proc/self/io");
  std::string name;
  uint64_t bytes = 0;
  if (!(counters >> name >> bytes) || name != "rchar:") return std::nullopt;
  return bytes;
}

// Goal: a tickerplant is back soon, however long its day was. Method: the tables' last rows are at
// different places of a log with a long index, and the kernel counts what a start reads.
TEST_F(TickerplantTest, ReadsTheIndexOnceWhenItOpensALog) {
  Open();
  const Value span = Value::List({Value::Vector(Type::kTimespan, std::span<const int64_t>({1})),
                                  Value::Symbols({"IBM"}),
                                  Value::Vector(Type::kLong, std::span<const int64_t>({1}))});
  for (int i = 0; i < 10'000; ++i) {
    const bool last = i == 4'999 || i == 9'999;
    ASSERT_TRUE((last ? Upd("span", span) : Upd("trade", Trades(1))).ok());
    ASSERT_TRUE(plant_->Commit().ok());
  }
  const auto index_bytes = std::filesystem::file_size(tplog::TplogIndexPath(plant_->log().path()));
  plant_ = nullptr;
  const std::optional<uint64_t> before = BytesRead();
  if (!before) GTEST_SKIP() << "/proc/self/io has no rchar";
  Open();
  const uint64_t read = *BytesRead() - *before;
  EXPECT_GT(read, index_bytes);
  EXPECT_LT(read, index_bytes * 3 / 2);
}

// Goal: a process that dies between the end of a day and its next log begins with the next day, and
// feeds resume where they were.
TEST_F(TickerplantTest, ADayThatEndedWithoutItsNextLogIsNotOpenedAgain) {
  Open(true, "UTC", 7373);
  ASSERT_TRUE(Updn("f", 0, Trades(4)).ok());
  ASSERT_TRUE(plant_->EndDay().ok());
  const std::string next = plant_->log().path();
  plant_ = nullptr;
  for (const char* suffix : {"", ".idx", ".state"}) std::filesystem::remove(next + suffix);
  Open(true, "UTC", 7373);
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.10");
  EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(4, 0));
}

// Goal: the same, if the process died after it had created the next log's file and before it had
// written anything into it.
TEST_F(TickerplantTest, AnEmptyNextLogGetsTheProgressOfTheDayBefore) {
  Open(true, "UTC", 7373);
  ASSERT_TRUE(Updn("f", 0, Trades(4)).ok());
  ASSERT_TRUE(plant_->EndDay().ok());
  const std::string next = plant_->log().path();
  plant_ = nullptr;
  for (const char* suffix : {".idx", ".state"}) std::filesystem::remove(next + suffix);
  std::filesystem::resize_file(next, 0);
  Open(true, "UTC", 7373);
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.10");
  EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(4, 0));
}

// A day that a request ended in the evening is not ended again at midnight.
TEST_F(TickerplantTest, RollsOnceANight) {
  Open();
  Reader reader;
  ASSERT_TRUE(plant_->Subscribe("trade", {&reader, {}, false}).ok());
  ASSERT_TRUE(plant_->EndDay().ok());
  clock_.Advance(kNsPerDay / 2);
  EXPECT_FALSE(*plant_->RollIfDue());
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.10");
  EXPECT_EQ(reader.messages.size(), 1u);
  clock_.Advance(kNsPerDay);
  EXPECT_TRUE(*plant_->RollIfDue());
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.11");
}

// A new leader continues in the log that it had as a standby, whatever the day: its last rows may
// be rows that others do not have, so the day ends only with them. It ends at once, also if nothing
// ran for days.
TEST_F(TickerplantTest, ContinuesInALogOfAnEarlierDayThatItIsGiven) {
  for (const int32_t days : {0, 1, 4}) {
    SCOPED_TRACE(days);
    OpenedLog opened{7373, nullptr, {}};
    tplog::TplogOptions options;
    options.carried_progress["f"]["trade"] = 4;
    opened.writer = *tplog::TplogWriter::Open(
        fmt::format("{}/{}/sym{}", directory_, days, FormatDate(7373)), options);
    const int64_t before_ns = clock_.NowNs();
    clock_.Advance(days * kNsPerDay);
    TickerplantOptions plant;
    plant.schemas = schemas_;
    plant.log_directory = fmt::format("{}/{}", directory_, days);
    plant_ = *Tickerplant::Open(plant, *DayClock::Create("UTC", 0, std::nullopt), &clock_,
                                std::move(opened));
    EXPECT_EQ(plant_->date(), 7373);
    EXPECT_EQ(plant_->IsRollDue(), days > 0);
    EXPECT_EQ(*plant_->RollIfDue(), days > 0);
    EXPECT_EQ(plant_->date(), 7373 + days);
    EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(4, 0));
    plant_ = nullptr;
    clock_.Advance(before_ns - clock_.NowNs());
  }
}

// Under load, some rows always wait for standbys. The day must end nevertheless.
TEST_F(TickerplantTest, ADayIsDueAlthoughRowsWaitForTheGate) {
  class Closed final : public CommitGate {
   public:
    bool HasRoom() const override { return true; }
    absl::Status Offer(ReplicaPlace, const tplog::TplogBlock&) override { return absl::OkStatus(); }
    bool IsAcknowledged(ReplicaPlace) const override { return is_open; }
    void OnLogged(ReplicaPlace) override {}
    bool is_open = false;
  };
  Open();
  Closed gate;
  plant_->set_gate(&gate);
  ASSERT_TRUE(Upd("trade", Trades(1)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  EXPECT_TRUE(plant_->has_staged());
  EXPECT_FALSE(plant_->IsRollDue());
  clock_.Advance(kNsPerDay);
  EXPECT_TRUE(plant_->IsRollDue());
  EXPECT_FALSE(*plant_->RollIfDue());
  EXPECT_EQ(plant_->EndDayTo(plant_->NextDay()).code(), absl::StatusCode::kUnavailable);
  gate.is_open = true;
  EXPECT_TRUE(plant_->EndDayTo(plant_->NextDay()).ok());
  EXPECT_EQ(Logged().size(), 1u);
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.10");
}

TEST_F(TickerplantTest, HoldsTheDayWhileAClockIsAheadForAMoment) {
  Open();
  clock_.Advance(10 * kNsPerDay);
  EXPECT_FALSE(*plant_->RollIfDue());
  clock_.Advance(Tickerplant::kJumpHeldNs - 1);
  EXPECT_FALSE(*plant_->RollIfDue());
  clock_.Advance(-10 * kNsPerDay);
  EXPECT_FALSE(*plant_->RollIfDue());
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.09");
  // Another jump is delayed again.
  clock_.Advance(5 * kNsPerDay);
  EXPECT_FALSE(*plant_->RollIfDue());
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.09");
}

// Either the clock is wrong now, or it was when the log was made: no day begins on a guess.
// Goal: a member of a cluster continues the cluster's day, which another member's clock has begun.
// Otherwise no member with a right clock could lead.
TEST_F(TickerplantTest, AMemberContinuesADayThatIsAheadOfItsClock) {
  OpenedLog opened{7376, nullptr, {}};  // Three days ahead.
  const std::string path = fmt::format("{}/sym{}", directory_, FormatDate(7376));
  opened.writer = *tplog::TplogWriter::Open(path, {});
  TickerplantOptions options;
  options.schemas = schemas_;
  options.log_directory = directory_;
  const DayClock day = *DayClock::Create("UTC", 0, std::nullopt);
  EXPECT_FALSE(Tickerplant::LogToOpen(options, day, &clock_).ok());
  options.is_member = true;
  EXPECT_EQ(Tickerplant::LogToOpen(options, day, &clock_).value(), path);
  plant_ = *Tickerplant::Open(options, day, &clock_, std::move(opened));
  EXPECT_EQ(plant_->date(), 7376);
  EXPECT_EQ(plant_->OverdueNs(), 0);
  EXPECT_FALSE(plant_->IsRollDue());
  EXPECT_THAT(Message(plant_->MayEndDay()), HasSubstr("2020.03.12 has not begun yet"));
  clock_.Advance(3 * kNsPerDay);
  EXPECT_FALSE(plant_->IsRollDue());
  clock_.Advance(kNsPerDay);
  EXPECT_TRUE(*plant_->RollIfDue());
  EXPECT_EQ(plant_->date(), 7377);
}

TEST_F(TickerplantTest, DoesNotStartWithAClockBehindItsLogs) {
  Open();
  plant_.reset();
  clock_.Advance(-2 * kNsPerDay);
  const absl::Status opened = TryOpen();
  EXPECT_TRUE(absl::IsFailedPrecondition(opened)) << opened;
  EXPECT_THAT(std::string(Message(opened)), HasSubstr("newer than the clock"));
  clock_.Advance(kNsPerDay);
  Open();
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.09");
}

TEST_F(TickerplantTest, SkipsDaysWhenTheClockJumps) {
  Open();
  Reader reader;
  ASSERT_TRUE(plant_->Subscribe("trade", {&reader, {}, false}).ok());
  clock_.Advance(10 * kNsPerDay);
  EXPECT_FALSE(*plant_->RollIfDue());
  clock_.Advance(Tickerplant::kJumpHeldNs);
  EXPECT_TRUE(*plant_->RollIfDue());
  EXPECT_EQ(FormatDate(plant_->date()), "2020.03.19");
  EXPECT_EQ(reader.messages.size(), 1u);
}

// Goal: a full disk loses nothing. Method: the file size limit makes the log's write fail; once it
// is lifted, the same commit succeeds and the log has every message once.
TEST_F(TickerplantTest, KeepsWhatAFullDiskDidNotTake) {
  Open();
  Reader reader;
  ASSERT_TRUE(plant_->Subscribe("trade", {&reader, {}, false}).ok());
  ASSERT_TRUE(Upd("trade", Trades(10)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = old;
  small.rlim_cur = 1000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  ASSERT_TRUE(Updn("f", 0, Trades(2000)).ok());
  const absl::Status full = plant_->Commit();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  EXPECT_TRUE(plant_->has_staged());
  EXPECT_FALSE(plant_->Commit().ok());
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_TRUE(plant_->Commit().ok());
  EXPECT_FALSE(plant_->has_staged());
  plant_->Publish();
  EXPECT_EQ(reader.rows(), 2010u);
  EXPECT_EQ(Logged().size(), 2u);
  EXPECT_THAT(plant_->FeedRows("f"), testing::ElementsAre(2000, 0));
}

TEST_F(TickerplantTest, GivesASubscriberAnExactPosition) {
  Open();
  Reader early, late;
  ASSERT_TRUE(plant_->Subscribe("trade", {&early, {}, true}).ok());
  ASSERT_TRUE(Upd("trade", Trades(3)).ok());
  ASSERT_TRUE(plant_->Commit().ok());
  // Only staged: it is after the position, so it comes live.
  ASSERT_TRUE(Upd("trade", Trades(4)).ok());
  ASSERT_TRUE(plant_->Subscribe("trade", {&late, {}, true}).ok());
  EXPECT_EQ(plant_->published_seq(), 1u);
  ASSERT_TRUE(plant_->Commit().ok());
  plant_->Publish();
  EXPECT_EQ(late.rows(), 4u);
  EXPECT_EQ(late.messages[0].items()[3], Value::Long(2));
  EXPECT_EQ(early.rows(), 7u);
}

}  // namespace
}  // namespace tickstack::tickerplant
