#include "serve/process_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::serve {
namespace {

using testing::HasSubstr;
using wire::StatusPage;

constexpr Metric kMetrics[] = {{"rows_total", MetricType::kCounter, "rows", "Rows.", ".x", "rows"}};

class ProcessStatusTest : public testing::Test {
 protected:
  wire::StatusReply Reply(StatusPage page) {
    ProcessStatus status(
        {.role = "rdb",
         .name = "rdb1",
         .metrics = kMetrics,
         .facts =
             [] {
               StatusFacts facts;
               facts.answers.push_back(
                   {".x", Value::Dict(Value::Symbols({"rows"}), Value::Longs({7}))});
               return facts;
             },
         .reasons = [this](const StatusFacts&, const HealthLimits&) { return why_; },
         .silent_threads = [this] { return silent_; },
         .more_json = [](bool first) { return first ? ",\"old\":1" : ",\"new\":2"; },
         .disks = {{"log", "/"}},
         .limits = limits_});
    return status.Collect(page)();
  }
  std::string Ask(StatusPage page, bool expect_ok) {
    const wire::StatusReply reply = Reply(page);
    EXPECT_EQ(reply.ok, expect_ok) << reply.text;
    return reply.text;
  }
  Reasons why_, silent_;
  HealthLimits limits_{.disk_free_bytes = 1};
};

TEST_F(ProcessStatusTest, WithoutAReasonItIsReady) {
  EXPECT_EQ(Ask(StatusPage::kReady, true), "ready\n");
  EXPECT_EQ(Ask(StatusPage::kAlive, true), "alive\n");
}

TEST_F(ProcessStatusTest, EachReasonIsALine) {
  why_ = {"no tickerplant", "a tier is full"};
  EXPECT_EQ(Ask(StatusPage::kReady, false), "not ready:\n- no tickerplant\n- a tier is full\n");
  EXPECT_EQ(Ask(StatusPage::kAlive, true), "alive\n") << "not being ready is no reason to restart";
  EXPECT_THAT(Ask(StatusPage::kMetrics, true), HasSubstr("\ntickstack_ready 0\n"));
}

TEST_F(ProcessStatusTest, ThePublicKnowsHowManyReasonsThereAre) {
  why_ = {"table secret lacks rows", "a tier is full"};
  EXPECT_EQ(Reply(StatusPage::kReady).public_text,
            "not ready:\n- reasons: 2; users who may read metrics see them\n");
  why_.clear();
  EXPECT_EQ(Reply(StatusPage::kReady).public_text, "");
}

TEST_F(ProcessStatusTest, AFullDiskIsAReason) {
  limits_.disk_free_bytes = SIZE_MAX;
  EXPECT_THAT(Ask(StatusPage::kReady, false), HasSubstr("\n- disk log: "));
}

TEST_F(ProcessStatusTest, AThreadThatDoesNotRespondIsNotAlive) {
  silent_ = {"the ingest thread"};
  EXPECT_EQ(Ask(StatusPage::kAlive, false), "not alive:\n- the ingest thread\n");
}

TEST_F(ProcessStatusTest, MetricsAreThoseOfTheProcessAndThoseOfAll) {
  const std::string text = Ask(StatusPage::kMetrics, true);
  EXPECT_THAT(text, HasSubstr("\ntickstack_rdb_rows_total 7\n"));
  EXPECT_THAT(text, HasSubstr("\ntickstack_ready 1\n"));
  EXPECT_THAT(text, HasSubstr("\ntickstack_build_info{version=\""));
  EXPECT_THAT(text, HasSubstr("\ntickstack_disk_free_bytes{disk=\"log\"} "));
  EXPECT_THAT(text, HasSubstr("\nprocess_resident_memory_bytes "));
}

TEST_F(ProcessStatusTest, AnEventHasTheStatisticsAndTheReasons) {
  why_ = {"a \"tier\" is full"};
  const std::string event = Ask(StatusPage::kEvent, true);
  EXPECT_THAT(event, testing::StartsWith("{\"ms\":"));
  EXPECT_THAT(event, HasSubstr(R"("role":"rdb","name":"rdb1","version":)"));
  EXPECT_THAT(event, HasSubstr(R"("ready":false,"reasons":["a \"tier\" is full"],)"));
  EXPECT_THAT(event, HasSubstr(R"("disks":[{"disk":"log","free":)"));
  EXPECT_THAT(event, testing::EndsWith(R"("facts":{".x":{"rows":7}},"durations":[],"new":2})"));
  EXPECT_THAT(Ask(StatusPage::kFirstEvent, true), testing::EndsWith(R"(,"old":1})"));
}

}  // namespace
}  // namespace tickstack::serve
