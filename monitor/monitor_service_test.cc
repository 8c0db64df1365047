#include "monitor/monitor_service.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "base/logging.h"
#include "wire/codec.h"
#include "wire/listener_options.h"
#include "wire/server.h"
#include "wire/simulation.h"

namespace tickstack::monitor {
namespace {

using namespace std::chrono_literals;

constexpr auto kAtMost = 20s;                                             // Simulated time.
constexpr int64_t kNowNs = 9'500 * kNsPerDay + 15 * 3600 * kNsPerSecond;  // In 2026.
constexpr int64_t kLagNs = 7'000;

// Answers every question, as an rdb or a feed would, and can break the connection at one of them.
class Answering final : public wire::ServerHandler {
 public:
  explicit Answering(const Clock& clock) : clock_(clock) {}
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    const absl::StatusOr<Value> query = wire::Decode(message.body);
    ASSERT_TRUE(query.ok());
    queries.emplace_back(query->text());
    if (break_at == queries.size()) return connection.Close(absl::OkStatus());
    const bool time = query->text().starts_with("exec last time");
    connection.Reply(connection.TakeTicket(),
                     time ? Value::Timestamp(clock_.NowNs() - kLagNs) : Value::Long(1));
  }
  void OnClosed(wire::Connection&, const absl::Status&) override {}

  std::vector<std::string> queries;
  size_t break_at = 0;

 private:
  const Clock& clock_;
};

class MonitorServiceTest : public testing::Test {
 protected:
  MonitorServiceTest() {
    InitLogging("test", LogLevel::kOff);
    rdb_server_ = *wire::Listen(loop_, {}, {}, &rdb_);
    feed_server_ = *wire::Listen(loop_, {}, {}, &feed_);
  }
  void Open() {
    service_ = std::make_unique<MonitorService>(
        loop_, wire::Address{"127.0.0.1", rdb_server_->port(), {}},
        wire::Address{"127.0.0.1", feed_server_->port(), {}},
        MonitorSettings{.query_ns = 5'000'000, .asof_symbol = "SPY"},
        [this](const Sample& sample) { samples_.push_back(sample); });
  }
  bool RunUntilSamples(size_t samples) {
    return simulation_.RunUntil([this, samples] { return samples_.size() >= samples; }, kAtMost);
  }

  wire::Simulation simulation_{kNowNs};
  wire::EventLoop& loop_ = simulation_.loop();
  Answering rdb_{loop_.clock()}, feed_{loop_.clock()};
  std::unique_ptr<wire::Server> rdb_server_, feed_server_;
  std::unique_ptr<MonitorService> service_;
  std::vector<Sample> samples_;
};

TEST_F(MonitorServiceTest, SamplesAndStartsTheFeedAfterTheFirst) {
  Open();
  ASSERT_TRUE(RunUntilSamples(1));
  EXPECT_TRUE(feed_.queries.empty());
  ASSERT_TRUE(simulation_.RunUntil([this] { return !feed_.queries.empty(); }, kAtMost));
  EXPECT_EQ(feed_.queries[0], ".feed.start[]");
  ASSERT_TRUE(RunUntilSamples(5));
  EXPECT_EQ(samples_[4].asof_rows, 1);
  EXPECT_EQ(samples_[4].tables[0].lag_ns, kLagNs);
  EXPECT_EQ(feed_.queries.size(), 1u);
}

TEST_F(MonitorServiceTest, KeepsItsPaceWhenTheClockIsSet) {
  Open();
  size_t samples = 5;
  ASSERT_TRUE(RunUntilSamples(samples));
  for (const int64_t step_ns : {kNsPerDay, -2 * kNsPerDay}) {
    simulation_.SetClock(step_ns);
    ASSERT_TRUE(RunUntilSamples(samples += 5)) << step_ns;
  }
  EXPECT_EQ(service_->monitor().missed(), 0);
}

TEST_F(MonitorServiceTest, StartsAFeedThatComesBackAgain) {
  feed_.break_at = 1;
  Open();
  ASSERT_TRUE(simulation_.RunUntil([this] { return feed_.queries.size() >= 2; }, kAtMost));
  EXPECT_EQ(feed_.queries[1], ".feed.start[]");
}

TEST_F(MonitorServiceTest, GoesOnAfterItsRdbWasAway) {
  rdb_.break_at = 3;
  Open();
  ASSERT_TRUE(RunUntilSamples(3));
  EXPECT_EQ(service_->monitor().reconnects(), 1);
}

TEST_F(MonitorServiceTest, GoesQuietlyWhileAQuestionIsUnderWay) {
  Open();
  ASSERT_TRUE(simulation_.RunUntil([this] { return !rdb_.queries.empty(); }, kAtMost));
  service_.reset();
  simulation_.RunFor(20ms);
  EXPECT_TRUE(samples_.empty());
}

}  // namespace
}  // namespace tickstack::monitor
