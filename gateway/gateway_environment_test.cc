// Goal: a request has the same days throughout, whatever happens to them meanwhile. Method: servers
// on loopback stand for an rdb and an hdb; a day ends whenever the request asks for the time.

#include "gateway/gateway_environment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "query/columns/errors.h"
#include "query/query.h"
#include "query/testing.h"
#include "wire/event_loop.h"
#include "wire/server.h"

namespace tickstack::gateway {
namespace {

constexpr int32_t kDay = 8795;  // 2024.01.30

Value Dates(const std::vector<int32_t>& days) {
  return Value::Vector(Type::kDate, std::span<const int32_t>(days));
}

// Evaluates what it is asked in an environment.
class Server final : public wire::ServerHandler {
 public:
  explicit Server(query::Environment& environment) : environment_(environment) {
    auto server = wire::Server::Listen(loop_, {"127.0.0.1", 0, ""}, {}, this);
    TS_CHECK(server.ok());
    server_ = *std::move(server);
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~Server() override {
    loop_.Stop();
    thread_.join();
  }

  std::unique_ptr<Replicas> Alone(std::string name) const {
    return std::make_unique<Replicas>(std::move(name),
                                      std::vector{wire::Address{"127.0.0.1", server_->port(), ""}},
                                      std::vector<wire::Address>(), ReplicaOptions());
  }

  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    if (message.kind != wire::MessageKind::kSync) return;
    const wire::ReplyTicket ticket = connection.TakeTicket();
    const absl::StatusOr<Value> answer = query::EvaluateMessage(message.body, environment_, {});
    if (!answer.ok()) return connection.ReplyError(ticket, query::QErrorText(answer.status()));
    connection.Reply(ticket, *answer);
  }
  void OnClosed(wire::Connection&, const absl::Status&) override {}

 private:
  query::Environment& environment_;
  wire::EventLoop loop_;
  std::unique_ptr<wire::Server> server_;
  std::thread thread_;
};

// Has kDay, or the day after it once that has begun.
class RdbForTest final : public query::TestEnvironment {
 public:
  explicit RdbForTest(const std::atomic<bool>& has_ended) : has_ended_(has_ended) {
    for (const std::string& name : {std::string("trade"), "trade@" + FormatDate(kDay)}) {
      CaptureTable(name, "([]time:1 2;sym:`a`b)", 64, "trade");
    }
    CaptureTable("trade@" + FormatDate(kDay + 1), "([]time:1 2 3;sym:`a`b`c)", 64, "trade");
  }

  std::vector<std::string> TableNames() override { return {"trade"}; }
  std::optional<Snapshot> FindTable(std::string_view name) override {
    const std::string gone = "trade@" + FormatDate(has_ended_ ? kDay : kDay + 1);
    return name == gone ? std::nullopt : TestEnvironment::FindTable(name);
  }
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override {
    if (name == ".rdb.stats") {
      return Value::Dict(Value::Symbols({"caught_up", "live"}), Value::Longs({1, 1}));
    }
    if (name == ".rdb.days") return Dates({has_ended_ ? kDay + 1 : kDay});
    if (name == ".rdb.blocked") return Value::String("");
    return TestEnvironment::Call(name, args);
  }

 private:
  const std::atomic<bool>& has_ended_;
};

// Has the day before kDay, and kDay once that has ended.
class HdbForTest final : public query::TestEnvironment {
 public:
  explicit HdbForTest(const std::atomic<bool>& has_ended) : has_ended_(has_ended) {
    CaptureTable("trade", fmt::format("([]date:{0} {1} {1};time:1 1 2;sym:`a`a`b)",
                                      FormatDate(kDay - 1), FormatDate(kDay)));
  }

  std::optional<Value> FindValue(std::string_view name) override {
    if (name != "date") return TestEnvironment::FindValue(name);
    return has_ended_ ? Dates({kDay - 1, kDay}) : Dates({kDay - 1});
  }

 private:
  const std::atomic<bool>& has_ended_;
};

class ActingClock final : public Clock {
 public:
  int64_t NowNs() const override {
    act();
    return 0;
  }
  int64_t MonotonicNs() const override { return 0; }

  std::function<void()> act;
};

TEST(GatewayEnvironment, ARequestHasTheDaysOfItsBeginning) {
  std::atomic<bool> has_ended = false;
  RdbForTest rdb(has_ended);
  HdbForTest hdb(has_ended);
  const Server rdb_server(rdb), hdb_server(hdb);
  std::vector<ShardReplicas> shards(1);
  shards[0].last = rdb_server.Alone("rdb");
  shards[0].past = hdb_server.Alone("hdb");
  ActingClock clock;
  GatewayEnvironment gateway(std::move(shards), std::nullopt, &clock);
  const auto show = [&gateway](std::string_view text) {
    const absl::StatusOr<Value> answer =
        query::EvaluateRequest(Value::String(text), *gateway.ForRequest());
    return answer.ok() ? query::Show(*answer) : "'" + query::QErrorText(answer.status());
  };
  // Returns when the gateway knows it.
  const auto end_day = [&](bool ended) {
    has_ended = ended;
    const Value days = ended ? Dates({kDay - 1, kDay, kDay + 1}) : Dates({kDay - 1, kDay});
    while (gateway.FindValue("date") != days) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  clock.act = [&] { end_day(true); };
  for (const char* item :
       {"count date", "count select by date from trade", "exec max date from trade",
        "exec count i from trade where date=max date",
        "exec count i from trade where date=last date",
        "sum exec count i by date from trade where sym in `a`b`c"}) {
    end_day(false);
    const std::string before = show(item);
    EXPECT_EQ(show(fmt::format("({0};null .z.p;{0})", item)), fmt::format("({0};0b;{0})", before))
        << item;
    EXPECT_NE(show(item), before) << item;
  }
}

}  // namespace
}  // namespace tickstack::gateway
