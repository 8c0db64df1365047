#include "serve/query_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "mem/tier.h"
#include "mem/tier_scratch.h"
#include "query/query.h"
#include "security/users_for_test.h"
#include "serve/query_counters.h"
#include "table/symbols.h"
#include "table/table.h"
#include "wire/client.h"
#include "wire/codec.h"
#include "wire/upd.h"

namespace tickstack::serve {
namespace {

using namespace std::chrono_literals;

ByteBuffer TradesUpd(int64_t first, int64_t rows) {
  ByteBuffer times, prices;
  SymbolVector names;
  for (int64_t i = first; i < first + rows; ++i) {
    times.AppendLittle(i);
    names.push_back(i % 2 == 0 ? "AIG" : "IBM");
    prices.AppendLittle(static_cast<double>(i));
  }
  ByteBuffer body;
  wire::Encode(Value::List({Value::Symbol("upd"), Value::Symbol("trade"),
                            Value::List({Value::Vector(Type::kTimestamp, std::move(times)),
                                         Value::Symbols(names),
                                         Value::Vector(Type::kFloat, std::move(prices))})}),
               body);
  return body;
}

// An environment with one captured table, `trade`, and the counters as the dictionary
// `.t.counts[]`.
class Trades final : public query::Environment {
 public:
  std::optional<Snapshot> FindTable(std::string_view name) override {
    return name == "trade" ? std::optional(table_->TakeSnapshot()) : std::nullopt;
  }
  std::vector<std::string> TableNames() override { return {"trade"}; }
  int64_t NowNs() override { return 1000; }
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value>) override {
    if (name != ".t.counts") return std::nullopt;
    SymbolVector names;
    std::vector<int64_t> counts;
    for (const auto& [key, count] : NamedCounts(counters)) {
      names.push_back(key);
      counts.push_back(static_cast<int64_t>(count));
    }
    return Value::Dict(Value::Symbols(std::move(names)),
                       Value::Vector(Type::kLong, std::span<const int64_t>(counts)));
  }
  void Take(const ByteBuffer& upd) {
    wire::UpdView view;
    EXPECT_TRUE(decoder_.Decode(upd, &view, 3).ok());
    EXPECT_TRUE(table_->Append(view.batch).ok());
  }

  QueryCounters counters;

 private:
  const std::unique_ptr<mem::Tier> tier_ = mem::MakeDramTier("dram", size_t{1} << 30);
  SymbolTable symbols_;
  const std::shared_ptr<Table> table_ =
      *Table::Create(*ParseSchema("trade", "time p, sym s, price f"), &symbols_,
                     TablePlacement{tier_.get(), {}, nullptr}, {});
  wire::UpdDecoder decoder_;
};

class QueryServiceTest : public testing::Test {
 protected:
  void Start(const QueryServiceOptions& options = {}) {
    absl::StatusOr<std::unique_ptr<QueryService>> started =
        QueryService::Start(options, &trades_, &trades_.counters);
    ASSERT_TRUE(started.ok()) << started.status();
    service_ = *std::move(started);
    address_ = {"127.0.0.1", service_->port(), ""};
  }
  absl::StatusOr<Value> Ask(const Value& request) { return wire::Ask(address_, request, 10s); }
  absl::StatusOr<Value> Ask(std::string_view text) { return Ask(Value::String(text)); }
  int64_t AskLong(std::string_view text) {
    const absl::StatusOr<Value> answer = Ask(text);
    EXPECT_TRUE(answer.ok()) << answer.status();
    EXPECT_TRUE(answer.ok() && answer->is_atom_of(Type::kLong));
    return answer.ok() && answer->is_atom_of(Type::kLong) ? answer->as<int64_t>() : -1;
  }

  size_t BuiltBytes(std::string_view text);

  Trades trades_;
  wire::Address address_;
  std::unique_ptr<QueryService> service_;
};

TEST_F(QueryServiceTest, AnswersQueriesOverWhatWasIngested) {
  Start();
  EXPECT_EQ(AskLong("count trade"), 0);
  trades_.Take(TradesUpd(0, 10));
  EXPECT_EQ(AskLong("count trade"), 10);
  EXPECT_EQ(AskLong("exec count price from trade where sym=`IBM"), 5);
  const absl::StatusOr<Value> tables = Ask("tables[]");
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_EQ(*tables, Value::Symbols({"trade"}, tables->attribute()));
}

TEST_F(QueryServiceTest, CountsQueriesAndTheirTimes) {
  QueryServiceOptions options;
  options.timeout_ns = kNsPerSecond;
  Start(options);
  EXPECT_EQ(AskLong("1+1"), 2);
  EXPECT_FALSE(Ask("nothing").ok());
  EXPECT_EQ(AskLong(".t.counts[][`queries]"), 3);
  EXPECT_EQ(AskLong(".t.counts[][`queries_failed]"), 1);
  EXPECT_EQ(AskLong(".t.counts[][`queries_running]"), 1);  // It counts itself.
  EXPECT_EQ(AskLong(".t.counts[][`queries_waiting]"), 0);
  EXPECT_EQ(AskLong(".t.counts[][`queries_stopped]"), 0);
  EXPECT_EQ(AskLong(".t.counts[][`queries_cancelled]"), 0);
  EXPECT_GT(AskLong(".t.counts[][`query_ns_p50]"), 0);
  // One answer has both: a second question would count the first.
  EXPECT_GE(AskLong("{x[`query_ns_max]-x`query_ns_p99}[.t.counts[]]"), 0);
}

TEST_F(QueryServiceTest, AnswersErrorsAsErrors) {
  Start();
  EXPECT_EQ(Message(Ask("nothing").status()), "nothing");
  EXPECT_EQ(Message(Ask("1+`a").status()), "type");
  EXPECT_FALSE(Ask("select from").ok());
  EXPECT_EQ(AskLong("count trade"), 0);
}

class Pipeline : public wire::ClientHandler {
 public:
  explicit Pipeline(std::function<void(wire::Connection&)> begin) : begin_(std::move(begin)) {}
  void OnConnected(wire::Connection& connection) override { begin_(connection); }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override { closed = true; }
  bool closed = false;

 private:
  std::function<void(wire::Connection&)> begin_;
};

// Goal: with more requests than may wait at once, reading pauses and goes on, and the order stays.
TEST_F(QueryServiceTest, AnswersManyRequestsInTheirOrder) {
  QueryServiceOptions options;
  options.threads = 2;
  Start(options);
  wire::EventLoop loop;
  std::vector<int64_t> answers;
  constexpr int kRequests = 500;
  Pipeline pipeline([&](wire::Connection& connection) {
    for (int i = 0; i < kRequests; ++i) {
      connection.SendAsync(Value::String("count trade"));
      connection.Call(Value::String(std::to_string(i) + "+0"),
                      [&](const absl::StatusOr<Value>& answer) {
                        answers.push_back(answer.ok() ? answer->as<int64_t>() : -1);
                      });
    }
  });
  wire::Client client(loop, address_, {}, &pipeline);
  ASSERT_TRUE(loop.RunUntil([&] { return answers.size() == kRequests; }, 20s));
  for (int i = 0; i < kRequests; ++i) EXPECT_EQ(answers[static_cast<size_t>(i)], i);
}

TEST_F(QueryServiceTest, DamagedRequestsGetAnErrorAndTheConnectionGoesOn) {
  Start();
  wire::EventLoop loop;
  std::vector<absl::StatusOr<Value>> answers;
  Pipeline pipeline([&](wire::Connection& connection) {
    // Sends a sync message whose body is not a value.
    connection.Send(ByteBuffer(AsBytes(std::string_view("\1\1\0\0\x0a\0\0\0\x63\x63", 10))));
    connection.Call(Value::String("1+1"),
                    [&](const absl::StatusOr<Value>& a) { answers.push_back(a); });
    connection.Call(Value::String("2+2"),
                    [&](const absl::StatusOr<Value>& a) { answers.push_back(a); });
  });
  wire::Client client(loop, address_, {}, &pipeline);
  // Three responses for two calls: the first belongs to the damaged message.
  ASSERT_TRUE(loop.RunUntil([&] { return answers.size() == 2; }, 20s));
  EXPECT_FALSE(answers[0].ok());
  EXPECT_EQ(answers[1]->as<int64_t>(), 2);
}

TEST_F(QueryServiceTest, DisconnectsWhoSawRowsThatAreGone) {
  std::atomic<uint64_t> contents{0};
  QueryServiceOptions options;
  options.contents = &contents;
  Start(options);
  wire::EventLoop loop;
  std::optional<absl::StatusOr<Value>> answer;
  Pipeline pipeline([](wire::Connection&) {});
  wire::ClientOptions once;
  once.reconnect = false;
  wire::Client client(loop, address_, once, &pipeline);
  const auto ask = [&] {
    answer.reset();
    client.connection()->Call(Value::String("count trade"),
                              [&](const absl::StatusOr<Value>& given) { answer = given; });
    ASSERT_TRUE(loop.RunUntil([&] { return answer.has_value(); }, 20s));
  };
  ASSERT_TRUE(loop.RunUntil([&] { return client.connection() != nullptr; }, 20s));
  ask();
  EXPECT_TRUE(answer->ok()) << answer->status();
  contents = 1;
  ask();
  EXPECT_TRUE(absl::IsUnavailable(answer->status())) << answer->status();
  EXPECT_EQ(AskLong("count trade"), 0);
  service_ = nullptr;  // It uses `contents`.
}

// Goal: ingesting goes on while queries run, and each query sees whole batches. Method: batches of
// 100 rows whose prices sum to a multiple of 4950; two clients ask for the sum all the time.
TEST_F(QueryServiceTest, QueriesSeeWholeBatchesWhileUpdsGoOn) {
  QueryServiceOptions options;
  options.threads = 2;
  Start(options);
  ByteBuffer batch;
  batch.Append(TradesUpd(0, 100));
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0, asked = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 2; ++c) {
    clients.emplace_back([&] {
      while (!done.load()) {
        const absl::StatusOr<Value> sum = Ask("exec sum price from trade");
        ++asked;
        const bool whole = sum.ok() && sum->is_atom_of(Type::kFloat) &&
                           static_cast<int64_t>(sum->as<double>()) % 4950 == 0;
        if (!whole) ++wrong;
      }
    });
  }
  for (int i = 0; i < 2000 || (asked < 20 && i < 200'000); ++i) trades_.Take(batch);
  done = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(asked, 0);
}

TEST_F(QueryServiceTest, StopsWhileClientsAreConnectedAndAsk) {
  Start();
  trades_.Take(TradesUpd(0, 1000));
  wire::EventLoop loop;
  int answers = 0;
  Pipeline pipeline([&](wire::Connection& connection) {
    for (int i = 0; i < 1000; ++i) {
      connection.Call(Value::String("select from trade"),
                      [&](const absl::StatusOr<Value>&) { ++answers; });
    }
  });
  wire::Client client(loop, address_, {}, &pipeline);
  ASSERT_TRUE(loop.RunUntil([&] { return answers > 3; }, 20s));
  service_ = nullptr;
  EXPECT_TRUE(loop.RunUntil([&] { return pipeline.closed; }, 20s));
}

// Waits until the sent answers have left the tier: the socket's thread frees them.
bool BecomesEmpty(const mem::Tier& tier) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (tier.Stats().used_bytes > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  return tier.Stats().used_bytes == 0;
}

// Returns how many bytes of a scratch tier evaluating alone takes.
size_t QueryServiceTest::BuiltBytes(std::string_view text) {
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("alone", size_t{64} << 20);
  mem::TierScratch scratch(tier.get());
  query::Limits limits;
  limits.scratch = &scratch;
  EXPECT_TRUE(query::Evaluate(text, trades_, limits).ok());
  return tier->Stats().high_water_bytes;
}

TEST_F(QueryServiceTest, BuildsAnswersInItsScratchTierOnceAndFreesThem) {
  Start();
  for (int64_t i = 0; i < 100; ++i) trades_.Take(TradesUpd(i * 1000, 1000));
  const absl::StatusOr<Value> expected = Ask("select from trade where price>=0");
  const std::unique_ptr<mem::Tier> scratch = mem::MakeDramTier("query", size_t{64} << 20);
  QueryServiceOptions options;
  options.scratch = scratch.get();
  service_ = nullptr;
  Start(options);
  const absl::StatusOr<Value> answer = Ask("select from trade where price>=0");
  ASSERT_TRUE(expected.ok() && answer.ok()) << answer.status();
  EXPECT_TRUE(*answer == *expected);
  EXPECT_EQ(answer->count(), 100'000u);
  // Expects times, prices, names and their ends of 100,000 rows. A message beside them would add 20
  // bytes a row.
  EXPECT_GT(scratch->Stats().high_water_bytes, size_t{100'000} * (8 + 8 + 4));
  EXPECT_EQ(scratch->Stats().high_water_bytes, BuiltBytes("select from trade where price>=0"));
  EXPECT_TRUE(BecomesEmpty(*scratch));
}

// Goal: a scratch tier that is full fails its query alone. Method: the tier holds the value of a
// small answer but not of a large one; rows are ingested and several clients ask meanwhile.
TEST_F(QueryServiceTest, AFullScratchTierFailsThatQueryAlone) {
  for (int64_t i = 0; i < 100; ++i) trades_.Take(TradesUpd(i * 1000, 1000));
  const std::unique_ptr<mem::Tier> scratch = mem::MakeDramTier("query", size_t{6} << 20);
  QueryServiceOptions options;
  options.threads = 3;
  options.scratch = scratch.get();
  options.max_result_bytes = size_t{1} << 30;
  Start(options);
  EXPECT_EQ(Message(Ask("til 1000000").status()), "limit: scratch memory query is full");
  // 4 MiB of value fit, because their message needs no room beside them.
  EXPECT_EQ(Ask("til 500000")->count(), 500'000u);
  EXPECT_EQ(AskLong("exec count price from trade where price>=0"), 100'000);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 3; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 10; ++i) {
        const bool large = (i + c) % 2 == 0;
        const absl::StatusOr<Value> answer = Ask(large ? "til 2000000" : "sum til 1000");
        if (large == answer.ok()) ++wrong;
      }
    });
  }
  for (int64_t i = 100; i < 200; ++i) trades_.Take(TradesUpd(i * 1000, 1000));
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(AskLong("count trade"), 200'000);
  EXPECT_TRUE(BecomesEmpty(*scratch));
}

TEST_F(QueryServiceTest, BoundsAnEvaluationByTheScratchTiersCapacity) {
  const std::unique_ptr<mem::Tier> scratch = mem::MakeDramTier("query", size_t{8} << 20);
  QueryServiceOptions options;
  options.scratch = scratch.get();
  Start(options);
  // Refuses the value before it is built.
  EXPECT_EQ(
      Message(Ask("til 2000000").status()),
      "limit: 16000000 more bytes after 0, at most 8388608 for a query; its scratch memory is "
      "query, 8388608 bytes");
  EXPECT_EQ(scratch->Stats().refused, 0u);
  service_ = nullptr;
  options.max_result_bytes = 1000;
  Start(options);
  EXPECT_TRUE(Message(Ask("til 200").status()).starts_with("limit: 1600 more bytes after 0"));
}

TEST_F(QueryServiceTest, EndsAnEvaluationThatTakesTooLong) {
  QueryServiceOptions options;
  options.timeout_ns = 1;
  Start(options);
  trades_.Take(TradesUpd(0, 1000));
  EXPECT_EQ(Message(Ask("select from trade where price>5").status()), "stop");
}

TEST_F(QueryServiceTest, AUsersLimitsHoldInAdditionToThoseOfTheProcess) {
  security::Grants few = security::AllGrants();
  few.query_max_bytes = size_t{1} << 20;
  few.query_timeout_ns = 50'000'000;
  security::Grants seldom = security::AllGrants();
  seldom.requests_per_second = 0.001;
  QueryServiceOptions options;
  options.listener.authenticator =
      std::make_shared<security::UsersForTest>(std::map<std::string, security::Grants>{
          {"few", few}, {"seldom", seldom}, {"all", security::AllGrants()}});
  Start(options);
  const auto ask = [&](std::string user, std::string_view text) {
    wire::ClientOptions client;
    client.user = std::move(user);
    const auto answer = wire::Ask(address_, Value::String(text), 20s, client);
    return answer.ok() ? "an answer" : std::string(Message(answer.status()));
  };
  EXPECT_EQ(ask("all", "count til 1000000"), "an answer");
  EXPECT_THAT(ask("few", "count til 1000000"), testing::StartsWith("limit"));
  EXPECT_EQ(ask("few", "{do[100000000;x+1];x}[1]"), "stop");
  EXPECT_EQ(ask("seldom", "1"), "an answer");
  EXPECT_EQ(ask("seldom", "1"), "limit: seldom may send 0.001 requests per second");
  EXPECT_THAT(ask("nobody", "1"), testing::HasSubstr("refused"));
}

}  // namespace
}  // namespace tickstack::serve
