#include "wire/status_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>

namespace tickstack::wire {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Source final : public StatusSource {
 public:
  Render Collect(StatusPage page) override {
    collected_by = std::this_thread::get_id();
    return [this, page] {
      rendered_by = std::this_thread::get_id();
      return StatusReply{.ok = page != StatusPage::kReady, .text = "page"};
    };
  }
  std::thread::id collected_by, rendered_by;
};

// Asks on the test's thread; the process's loop runs on another one, if at all.
class StatusDeskTest : public testing::Test {
 protected:
  StatusReply Ask(StatusPage page) {
    std::optional<StatusReply> got;
    desk_.Ask(page, [&](StatusReply reply) { got = std::move(reply); });
    EXPECT_TRUE(http_.RunUntil([&] { return got.has_value(); }, 20s));
    return got.value_or(StatusReply());
  }

  EventLoop process_, http_;
  Source source_;
  StatusDesk desk_{http_, &source_, &process_};
};

TEST(StatusPageAt, KnowsThePagesAndNothingElse) {
  EXPECT_EQ(StatusPageAt("/metrics"), StatusPage::kMetrics);
  EXPECT_EQ(StatusPageAt("/healthz?verbose=1"), StatusPage::kAlive);
  EXPECT_EQ(StatusPageAt("/readyz"), StatusPage::kReady);
  EXPECT_EQ(StatusPageAt("/events"), StatusPage::kEvent);
  for (const char* other :
       {"/", "/metrics/", "/metric", "metrics", "", "/?/metrics", "/readyz.csv"})
    EXPECT_EQ(StatusPageAt(other), std::nullopt) << other;
}

TEST_F(StatusDeskTest, CollectsOnTheProcesssThreadAndRendersOnItsOwn) {
  bool stop = false;
  std::thread process([&] { process_.RunUntil([&] { return stop; }, false); });
  EXPECT_TRUE(Ask(StatusPage::kMetrics).ok);
  EXPECT_FALSE(Ask(StatusPage::kReady).ok);
  EXPECT_EQ(source_.collected_by, process.get_id());
  EXPECT_EQ(source_.rendered_by, std::this_thread::get_id());
  process_.Post([&] { stop = true; });
  process.join();
}

TEST_F(StatusDeskTest, ALoopThatDoesNotRunIsNamed) {
  const StatusReply reply = Ask(StatusPage::kAlive);
  EXPECT_FALSE(reply.ok);
  EXPECT_THAT(reply.text, HasSubstr("has not responded for 2000 ms"));
  // It runs again: the late answer belongs to no question.
  process_.RunReady();
  http_.RunReady();
}

TEST_F(StatusDeskTest, AClosedDeskDropsItsQuestionsAndAsksTheSourceNothing) {
  bool answered = false;
  desk_.Ask(StatusPage::kMetrics, [&](StatusReply) { answered = true; });
  desk_.Close();
  process_.RunReady();
  http_.RunReady();
  EXPECT_FALSE(answered);
  EXPECT_EQ(source_.collected_by, std::thread::id());
}

TEST_F(StatusDeskTest, AnAnswerOnItsWayToAClosedDeskIsDropped) {
  bool answered = false;
  desk_.Ask(StatusPage::kMetrics, [&](StatusReply) { answered = true; });
  process_.RunReady();
  desk_.Close();
  http_.RunReady();
  EXPECT_FALSE(answered);
  EXPECT_EQ(source_.rendered_by, std::thread::id());
}

}  // namespace
}  // namespace tickstack::wire
