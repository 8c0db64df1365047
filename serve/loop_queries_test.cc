#include "serve/loop_queries.h"

#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "table/value.h"
#include "wire/client.h"
#include "wire/listener_options.h"
#include "wire/server.h"
#include "wire/simulation.h"

namespace tickstack::serve {
namespace {

// Occupies the processor for longer than an expression may take on the loop.
absl::StatusOr<Value> Slow() {
  const auto processor_ns = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * kNsPerSecond + now.tv_nsec;
  };
  const int64_t end_ns = processor_ns() + 25'000'000;
  while (processor_ns() < end_ns) {
  }
  return Value::Long(7);
}

class LoopQueriesTest : public testing::Test, public wire::ClientHandler {
 protected:
  LoopQueriesTest() : server_(*wire::Listen(loop_, {}, {}, &queries_)) {
    client_.emplace(loop_, wire::Address{"127.0.0.1", server_->port(), {}}, wire::ClientOptions{},
                    this);
  }
  void OnConnected(wire::Connection& connection) override { connection_ = &connection; }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override { connection_ = nullptr; }

  absl::StatusOr<Value> Ask(const Value& request) {
    EXPECT_TRUE(simulation_.RunUntil([this] { return connection_ != nullptr; }, kAtMost));
    std::optional<absl::StatusOr<Value>> answer;
    connection_->Call(request, [&answer](const absl::StatusOr<Value>& a) { answer = a; });
    EXPECT_TRUE(simulation_.RunUntil([&answer] { return answer.has_value(); }, kAtMost));
    return *answer;
  }
  static Value Call(std::string_view name, Value argument = Value::List({})) {
    return Value::List({Value::Symbol(name), std::move(argument)});
  }

  static constexpr std::chrono::seconds kAtMost{60};
  wire::Simulation simulation_{0};
  wire::EventLoop& loop_ = simulation_.loop();
  LoopQueries queries_{
      &loop_.clock(),
      {{".t.slow", Slow}, {".t.fails", [] { return absl::StatusOr<Value>(NotFound("no rows")); }}}};
  std::unique_ptr<wire::Server> server_;
  std::optional<wire::Client> client_;
  wire::Connection* connection_ = nullptr;
};

TEST_F(LoopQueriesTest, AnExpressionHasATimeLimit) {
  EXPECT_EQ(Message(Ask(Value::String("1+.t.slow[]")).status()), "stop");
}

TEST_F(LoopQueriesTest, ACallHasNone) {
  for (const Value& request :
       {Call(".t.slow"), Call(".t.slow", Value::Long(1)), Value::Symbols({".t.slow", "x"})}) {
    const absl::StatusOr<Value> answer = Ask(request);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(*answer, Value::Long(7));
  }
}

TEST_F(LoopQueriesTest, ACallOfAnotherNameIsEvaluated) {
  EXPECT_EQ(*Ask(Call("til", Value::Long(2))), Value::Longs({0, 1}));
  EXPECT_FALSE(Ask(Call(".t.nothing")).ok());
}

TEST_F(LoopQueriesTest, AnswersWithTheErrorOfAFunction) {
  const absl::StatusOr<Value> evaluated = Ask(Value::String(".t.fails[]"));
  EXPECT_FALSE(evaluated.ok());
  EXPECT_EQ(Ask(Call(".t.fails")).status(), evaluated.status());
}

}  // namespace
}  // namespace tickstack::serve
