#include "measure/clients/query_clients.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "base/logging.h"
#include "wire/codec.h"
#include "wire/event_loop.h"
#include "wire/listener_options.h"
#include "wire/server.h"

namespace tickstack::measure {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongest = 20s;

// Answers at once, as an rdb that knows two symbols, and can break the connection at a question.
class QuickRdb final : public wire::ServerHandler {
 public:
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    const absl::StatusOr<Value> query = wire::Decode(message.body);
    ASSERT_TRUE(query.ok());
    texts.insert(std::string(query->text()));
    connections.insert(connection.id());
    if (++questions == break_at) return connection.Close(absl::OkStatus());
    const bool symbols = query->text() == kSymbolsQuery && ++asked_for_symbols > 1;
    connection.Reply(connection.TakeTicket(),
                     symbols
                         ? Value::KeyedTable(Value::Table({"sym"}, {Value::Symbols({"A", "B"})}),
                                             Value::Table({"n"}, {Value::Longs({3, 1})}))
                         : Value::Long(1));
  }
  void OnClosed(wire::Connection&, const absl::Status&) override {}

  std::set<std::string> texts;
  std::set<uint64_t> connections;
  size_t questions = 0, break_at = 0, asked_for_symbols = 0;
};

class QueryClientsTest : public testing::Test {
 protected:
  QueryClientsTest() {
    InitLogging("test", LogLevel::kOff);
    server_ = *wire::Listen(loop_, {}, {}, &rdb_);
    // The clients run on a thread of their own, so this looks again and again.
    tick_.Every(1ms, [] {});
  }
  void Open(std::string_view client, std::string_view text, bool wait = false) {
    QueryClientsOptions options;
    options.set = *ParseQuerySet(
        fmt::format("[[client]]\nname = \"c\"\nqueries = [\"q\"]\n{}\n[[query]]\nname = \"q\"\n"
                    "text = \"{}\"\n",
                    client, text),
        "q.toml");
    options.rdb = wire::Address{"127.0.0.1", server_->port(), {}};
    options.wait = wait;
    clients_ = std::make_unique<QueryClients>(std::move(options));
  }
  template <typename Done>
  bool RunUntil(Done done) {
    return loop_.RunUntil(done, kLongest);
  }

  wire::EventLoop loop_;
  wire::Timer tick_{loop_};
  QuickRdb rdb_;
  std::unique_ptr<wire::Server> server_;
  std::unique_ptr<QueryClients> clients_;
};

TEST_F(QueryClientsTest, AskOnAllTheirConnectionsUntilTheEnd) {
  Open("count = 5\nmode = \"open\"\nevery_ms = 0.2", "1+1");
  ASSERT_TRUE(RunUntil([this] { return clients_->answers() >= 200; }));
  EXPECT_FALSE(clients_->is_idle());
  clients_->End();
  ASSERT_TRUE(RunUntil([this] { return clients_->is_idle(); }));
  const std::vector<ClientResult> results = clients_->Stop();
  clients_.reset();
  EXPECT_EQ(rdb_.connections.size(), 5u);
  const QueryResult& query = results[0].queries[0];
  EXPECT_EQ(query.whole.Count(), rdb_.questions);
  EXPECT_EQ(query.errors + query.unanswered, 0u);
  EXPECT_GT(query.whole.Max(), 0);
}

TEST_F(QueryClientsTest, WaitToBeToldAndAskWhichSymbolsThereAre) {
  Open("", "exec last price from trade where sym=`{symbol}", true);
  ASSERT_TRUE(RunUntil([this] { return rdb_.asked_for_symbols == 2; }));
  EXPECT_EQ(clients_->answers(), 0u);
  clients_->Begin();
  ASSERT_TRUE(RunUntil([this] { return clients_->answers() >= 50; }));
  EXPECT_TRUE(rdb_.texts.contains("exec last price from trade where sym=`A"));
  EXPECT_TRUE(rdb_.texts.contains("exec last price from trade where sym=`B"));
  clients_.reset();  // Ends in the middle of a question.
}

TEST_F(QueryClientsTest, GoOnAfterTheirRdbWasAway) {
  rdb_.break_at = 20;
  Open("count = 2", "1+1");
  ASSERT_TRUE(RunUntil([this] { return clients_->answers() >= 60; }));
  const std::vector<ClientResult> results = clients_->Stop();
  clients_.reset();
  EXPECT_EQ(results[0].lost, 1u);
  EXPECT_EQ(results[0].queries[0].errors, 0u);
}

}  // namespace
}  // namespace tickstack::measure
