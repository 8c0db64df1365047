#include "measure/clients/client_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/logging.h"
#include "measure/clients/client_report.h"

namespace tickstack::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStartNs = 9'000 * kNsPerDay;
constexpr double kDigits = 0.001;  // Relative precision of the histograms.

// Runs a class of clients on a manual clock, before a server that answers when the test says so.
class ClientGroupTest : public testing::Test, public QuestionSender {
 protected:
  ClientGroupTest() { InitLogging("test", LogLevel::kOff); }

  void Make(std::string_view keys, std::string_view query_keys = "", int connections = 2) {
    const absl::StatusOr<QuerySet> set = ParseQuerySet(
        fmt::format("[[client]]\nname = \"c\"\ncount = {}\nqueries = [\"q\"]\n{}\n[[query]]\n"
                    "name = \"q\"\ntext = \"{{symbol}}\"\nsymbols = \"turn\"\n{}\n",
                    connections, keys, query_keys),
        "q.toml");
    ASSERT_TRUE(set.ok()) << set.status();
    set_ = *set;
    group_.emplace(set_, 0, symbols_, 300 * kMs, this);
    group_->Begin(kStartNs);
    for (int i = 0; i < connections; ++i) group_->OnConnected(static_cast<size_t>(i), now_ns_);
  }
  void Ask(size_t connection, std::string_view text) override {
    EXPECT_FALSE(asked_.contains(connection)) << "two questions under way on one connection";
    asked_[connection] = text;
    texts_.emplace_back(text);
  }
  void Answer(size_t connection, absl::StatusOr<Value> answer = Value::Long(1)) {
    ASSERT_EQ(asked_.erase(connection), 1u);
    group_->OnAnswer(connection, answer, now_ns_);
  }
  void AnswerAll() {
    while (!asked_.empty()) Answer(asked_.begin()->first);
  }
  // Runs up to a moment in steps of 1 ms; the server answers at once, or not at all.
  void RunTo(int64_t ms, bool answers) {
    for (; now_ns_ < kStartNs + ms * kMs; now_ns_ += kMs) {
      group_->Poll(now_ns_);
      if (answers) AnswerAll();
    }
    group_->Poll(now_ns_);
  }
  QueryResult Result() const { return group_->Result(now_ns_).queries[0]; }

  QuerySet set_;
  SymbolActivity symbols_{{{"A", 1}, {"B", 1}, {"C", 1}, {"D", 1}}};
  std::optional<ClientGroup> group_;
  std::map<size_t, std::string> asked_;  // The open question of each connection.
  std::vector<std::string> texts_;
  int64_t now_ns_ = kStartNs;
};

// Goal: a server that stalls shows in the times of all questions that were due meanwhile. Method: a
// question is due every 10 ms and answered at once, except for half a second in which 50 become
// due, of which the two connections can ask only two.
TEST_F(ClientGroupTest, AnOpenLoopMeasuresFromWhenAQuestionWasDue) {
  Make("mode = \"open\"\nevery_ms = 10\narrivals = \"even\"");
  RunTo(500, true);
  EXPECT_EQ(Result().whole.Count(), 50u);
  EXPECT_EQ(Result().whole.Max(), 0);
  RunTo(1'000, false);
  EXPECT_EQ(asked_.size(), 2u);
  AnswerAll();
  for (int i = 0; i < 100; ++i) {  // Answers all that waited at one moment of the clock.
    group_->Poll(now_ns_);
    AnswerAll();
  }
  const QueryResult stalled = Result();
  EXPECT_EQ(stalled.whole.Count(), 100u);
  EXPECT_EQ(stalled.unanswered, 0u);
  EXPECT_EQ(stalled.whole.Max(), 500 * kMs);
  // Times are 500, 490 ... 10, 0, not one long time and fifty short ones.
  const auto counters = stalled.whole.Counters();
  ASSERT_EQ(counters.size(), 51u);
  EXPECT_EQ(counters[0].second, 50u);
  for (size_t i = 1; i <= 50; ++i) {
    EXPECT_EQ(counters[i].second, 1u) << i;
    EXPECT_NEAR(static_cast<double>(counters[i].first), static_cast<double>(i) * 10e6,
                static_cast<double>(i) * 10e6 * kDigits);
  }
  EXPECT_THAT(std::vector(texts_.begin(), texts_.begin() + 5),
              ElementsAre("A", "B", "C", "D", "A"));
}

TEST_F(ClientGroupTest, KeepsItsPaceWhenTheClockIsSet) {
  Make("mode = \"open\"\nevery_ms = 10\narrivals = \"even\"");
  RunTo(500, true);
  const size_t asked = texts_.size();
  for (const int64_t step_ns : {kNsPerDay, -2 * kNsPerDay}) {
    now_ns_ += step_ns;
    group_->OnClockSet(step_ns);
    const int64_t next_ns = group_->Poll(now_ns_);
    EXPECT_EQ(texts_.size(), asked) << step_ns;
    EXPECT_LE(next_ns - now_ns_, 10 * kMs);
  }
}

TEST_F(ClientGroupTest, WhatHasNoAnswerAtTheEndCountsWithItsWaiting) {
  Make("mode = \"open\"\nevery_ms = 10\narrivals = \"even\"");
  RunTo(100, false);
  group_->End(now_ns_);
  now_ns_ += 5 * kMs;
  EXPECT_EQ(group_->Poll(now_ns_), ClientGroup::kNever);
  EXPECT_FALSE(group_->is_idle());
  const QueryResult result = Result();
  EXPECT_EQ(result.unanswered, 9u);  // Two were asked, seven were due.
  EXPECT_EQ(result.whole.Count(), 9u);
  EXPECT_EQ(result.whole.Max(), 95 * kMs);
  EXPECT_NEAR(static_cast<double>(result.whole.Min()), 15e6, 15e6 * kDigits);
  EXPECT_EQ(group_->answers(), 0u);

  // Asks and answers the questions that were due, and no others.
  while (!asked_.empty()) {
    AnswerAll();
    group_->Poll(now_ns_);
  }
  EXPECT_TRUE(group_->is_idle());
  EXPECT_EQ(Result().unanswered, 0u);
  EXPECT_EQ(Result().whole.Count(), 9u);
  EXPECT_DOUBLE_EQ(group_->Result(now_ns_).seconds, 0.1);
}

TEST_F(ClientGroupTest, AnOpenLoopWithoutAPaceGoesWithTheMonitorsTimer) {
  Make("mode = \"open\"\narrivals = \"even\"");
  EXPECT_EQ(group_->Poll(kStartNs), kStartNs + 300 * kMs);
  EXPECT_EQ(group_->spec().every_ms, 300);
}

TEST_F(ClientGroupTest, PoissonArrivalsHaveTheirMeanAndTheirSpread) {
  OpenSchedule schedule(10e6, true, 5);
  schedule.Begin(kStartNs);
  int64_t last_ns = kStartNs;
  int long_gaps = 0;
  constexpr int kArrivals = 100'000;
  for (int i = 0; i < kArrivals; ++i, schedule.Advance()) {
    ASSERT_GE(schedule.due_ns(), last_ns);
    long_gaps += schedule.due_ns() - last_ns > 20 * kMs ? 1 : 0;
    last_ns = schedule.due_ns();
  }
  EXPECT_NEAR(static_cast<double>(last_ns - kStartNs) / kArrivals, 10e6, 0.1e6);
  EXPECT_NEAR(static_cast<double>(long_gaps) / kArrivals, 0.1353, 0.005);  // e^-2
}

TEST_F(ClientGroupTest, AClosedLoopWaitsForItsAnswerAndThinks) {
  Make("think_ms = 20");
  group_->Poll(now_ns_);
  EXPECT_EQ(asked_.size(), 2u);
  now_ns_ += 7 * kMs;
  EXPECT_EQ(group_->Poll(now_ns_), ClientGroup::kNever);
  Answer(0);
  EXPECT_EQ(group_->Poll(now_ns_), now_ns_ + 20 * kMs);
  now_ns_ += 20 * kMs;
  group_->Poll(now_ns_);
  EXPECT_EQ(asked_.size(), 2u);
  AnswerAll();
  const QueryResult result = Result();
  EXPECT_EQ(result.whole.Count(), 3u);
  EXPECT_EQ(result.whole.Min(), 0);
  EXPECT_EQ(result.whole.Max(), 27 * kMs);
}

TEST_F(ClientGroupTest, AQuestionWhoseConnectionEndsIsAskedAgainAndItsTimeRunsOn) {
  for (const char* mode : {"", "mode = \"open\"\nevery_ms = 10\narrivals = \"even\""}) {
    SCOPED_TRACE(mode);
    now_ns_ = kStartNs;
    asked_.clear();
    texts_.clear();
    Make(mode, "", 1);
    RunTo(10, false);
    ASSERT_THAT(texts_, ElementsAre("A"));
    const int64_t since_ns = *mode == 0 ? kStartNs : kStartNs + 10 * kMs;
    asked_.clear();
    group_->OnAnswer(0, absl::UnavailableError("gone"), now_ns_);
    group_->OnDisconnected(0);
    now_ns_ += 3'000 * kMs;
    group_->Poll(now_ns_);
    EXPECT_TRUE(asked_.empty());
    group_->OnConnected(0, now_ns_);
    EXPECT_THAT(texts_, ElementsAre("A", "A"));
    Answer(0);
    EXPECT_EQ(Result().errors, 0u);
    EXPECT_EQ(group_->answers(), 1u);
    EXPECT_EQ(group_->Result(now_ns_).lost, 1u);
    EXPECT_EQ(group_->Result(now_ns_).queries[0].whole.Max(), now_ns_ - since_ns);
  }
}

TEST_F(ClientGroupTest, CountsErrorsAndResultsThatAreEmptyWhereTheyMayNotBe) {
  Make("", "check = \"not_empty\"", 1);
  const std::pair<absl::StatusOr<Value>, uint64_t> answers[] = {
      {Value::Long(1), 0},
      {Value::Long(kNullLong), 1},
      {Value::Longs({}), 2},
      {Value::Table({"a"}, {Value::Longs({})}), 3},
      {absl::UnknownError("nyi: x"), 4},
      {Value(), 5},
      {Value::Float(0), 5},
      {Value::Float(std::nan("")), 6}};
  for (const auto& [answer, errors] : answers) {
    group_->Poll(now_ns_);
    Answer(0, answer);
    EXPECT_EQ(Result().errors, errors);
  }
  EXPECT_EQ(Result().first_error, "the result is empty");
  EXPECT_EQ(group_->errors(), 6u);
  EXPECT_EQ(Result().whole.Count(), 8u);

  Make("", "allow_errors = true", 1);
  group_->Poll(now_ns_);
  Answer(0, absl::UnknownError("nyi: x"));
  EXPECT_EQ(Result().errors, 1u);
  EXPECT_EQ(Result().first_error, "nyi: x");
  EXPECT_EQ(group_->errors(), 0u);
}

TEST_F(ClientGroupTest, BeginningAnewForgetsAndDoesNotCountWhatIsUnderWay) {
  Make("");
  group_->Poll(now_ns_);
  now_ns_ += 50 * kMs;
  Answer(0);
  group_->Begin(now_ns_);
  Answer(1);
  EXPECT_EQ(Result().whole.Count(), 0u);
  EXPECT_EQ(group_->answers(), 0u);
  group_->Poll(now_ns_);
  EXPECT_EQ(texts_.back(), "B");  // Both connections ask the same questions again.
  AnswerAll();
  EXPECT_EQ(Result().whole.Count(), 2u);
  EXPECT_EQ(Result().whole.Max(), 0);
}

TEST_F(ClientGroupTest, CutsTheTimesIntoSlices) {
  Make("think_ms = 1000", "allow_errors = true", 1);
  for (int s = 0; s < 25; ++s, now_ns_ += 1'000 * kMs) {
    if (s >= 10 && s < 20) continue;  // A slice without answers.
    group_->Poll(now_ns_);
    Answer(0, s == 3 ? absl::StatusOr<Value>(absl::UnknownError("x")) : Value::Long(s));
  }
  const std::vector<QuerySlice> slices = Result().slices;
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].times.count, 10u);
  EXPECT_EQ(slices[0].errors, 1u);
  EXPECT_EQ(slices[1].times.count, 5u);
  EXPECT_EQ(slices[1].begin_ns, kStartNs + 2 * ClientGroup::kSliceNs);
  EXPECT_THAT(SlicesCsv({group_->Result(now_ns_)}),
              HasSubstr("\nc,q,2024.08.22D00:00:20.000000000,5,0,0.000000,"));
}

TEST_F(ClientGroupTest, IsInTheSummary) {
  Make("mode = \"open\"\nevery_ms = 10\narrivals = \"even\"", "allow_errors = true");
  RunTo(100, true);
  group_->Poll(now_ns_);
  now_ns_ += 20 * kMs;
  Answer(asked_.begin()->first, absl::UnknownError("nyi: x"));
  group_->End(now_ns_);
  nlohmann::ordered_json json;
  AddClients({group_->Result(now_ns_)}, json);
  EXPECT_EQ(json["clients"]["c"]["mode"], "open");
  EXPECT_EQ(json["clients"]["c"]["every_ms"], 10);
  EXPECT_EQ(json["clients"]["c"]["connections"], 2);
  const auto& query = json["queries"]["c"]["q"];
  EXPECT_EQ(query["errors"], 1);
  EXPECT_EQ(query["first_error"], "nyi: x");
  EXPECT_EQ(query["errors_allowed"], true);
  EXPECT_EQ(query["whole"]["count"], 11);  // The question that was due at 110 ms has no answer.
  EXPECT_THAT(ClientsText({group_->Result(now_ns_)}), HasSubstr("1 errors, the first: nyi: x"));
  nlohmann::ordered_json nobody;
  AddClients({}, nobody);
  EXPECT_TRUE(nobody.empty());
}

}  // namespace
}  // namespace tickstack::measure
