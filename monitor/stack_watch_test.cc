#include "monitor/stack_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/logging.h"
#include "base/time.h"
#include "wire/codec.h"
#include "wire/listener_options.h"
#include "wire/server.h"
#include "wire/simulation.h"

namespace tickstack::monitor {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(ParseWatched, TakesRoleNameAndAddress) {
  const absl::StatusOr<WatchedProcess> rdb = ParseWatched("rdb:rdb1=127.0.0.1:5011");
  ASSERT_TRUE(rdb.ok());
  EXPECT_EQ(rdb->role, "rdb");
  EXPECT_EQ(rdb->name, "rdb1");
  EXPECT_EQ(rdb->address, (wire::Address{"127.0.0.1", 5011, ""}));
  for (const char* wrong :
       {"", "rdb", "rdb:rdb1", "rdb=:5011", "disk:a=127.0.0.1:5011", "rdb:a=127.0.0.1:x"}) {
    EXPECT_EQ(ParseWatched(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

// Answers every question with 1, except those about tiers.
class Answering final : public wire::ServerHandler {
 public:
  void OnOpened(wire::Connection&) override { ++clients; }
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    queries.emplace_back(wire::Decode(message.body)->text());
    const wire::ReplyTicket ticket = connection.TakeTicket();
    if (queries.back() == ".tier.stats[]") return connection.ReplyError(ticket, "type");
    connection.Reply(ticket, Value::Long(1));
  }
  void OnClosed(wire::Connection&, const absl::Status&) override { --clients; }

  std::vector<std::string> queries;
  int clients = 0;
};

class StackWatchTest : public testing::Test {
 protected:
  StackWatchTest() {
    InitLogging("test", LogLevel::kOff);
    server_ = *wire::Listen(loop_, {}, {}, &rdb_);
    watch_ = std::make_unique<StackWatch>(
        loop_, std::vector<WatchedProcess>{{"rdb", "rdb1", {"127.0.0.1", server_->port(), ""}}});
  }
  template <typename F>
  bool RunUntil(F done) {
    return simulation_.RunUntil(done, 60s);
  }

  wire::Simulation simulation_{9'500 * kNsPerDay};
  wire::EventLoop& loop_ = simulation_.loop();
  Answering rdb_;
  std::unique_ptr<wire::Server> server_;
  std::unique_ptr<StackWatch> watch_;
};

TEST_F(StackWatchTest, AsksOnceASecondWhileSomebodyLooks) {
  EXPECT_FALSE(watch_->is_asking());
  EXPECT_THAT(watch_->Json(), HasSubstr(R"("connected":false,"error":"","ms":null,"facts":{}})"));
  ASSERT_TRUE(RunUntil([&] { return rdb_.queries.size() == 8; }));
  const std::string json = watch_->Json();
  EXPECT_THAT(json, HasSubstr(R"([{"role":"rdb","name":"rdb1","host":"127.0.0.1","port":)"));
  EXPECT_THAT(json, HasSubstr(R"("connected":true)"));
  EXPECT_THAT(json, HasSubstr(R"(".rdb.stats":1)"));
  EXPECT_THAT(json, HasSubstr(R"("error":".tier.stats[]: type")"));
}

TEST_F(StackWatchTest, DisconnectsWhenNobodyLooks) {
  watch_->Json();
  ASSERT_TRUE(RunUntil([&] { return rdb_.clients == 1; }));
  ASSERT_TRUE(RunUntil([&] { return rdb_.clients == 0; }));
  EXPECT_FALSE(watch_->is_asking());
  const size_t asked = rdb_.queries.size();
  watch_->Json();
  EXPECT_TRUE(RunUntil([&] { return rdb_.queries.size() > asked; })) << "and asks again";
}

TEST_F(StackWatchTest, SaysThatAProcessIsAway) {
  server_ = nullptr;
  watch_->Json();
  EXPECT_TRUE(RunUntil(
      [&] { return watch_->Json().find(R"("connected":false,"error":"")") == std::string::npos; }));
}

}  // namespace
}  // namespace tickstack::monitor
