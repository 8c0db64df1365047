// Goal: each question gets an answer as long as one replica can give it, and none is evaluated
// twice unless it only reads. Method: servers on loopback that answer, hang, end connections or are
// not there.

#include "gateway/replicas.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "gateway/asker.h"
#include "query/columns/errors.h"
#include "table/answer_sink.h"
#include "wire/codec.h"
#include "wire/event_loop.h"
#include "wire/server.h"

namespace tickstack::gateway {
namespace {

using namespace std::chrono_literals;

// Answers with its number, or not at all.
class Process final : public wire::ServerHandler {
 public:
  explicit Process(int64_t number) : number_(number) {
    auto server = wire::Server::Listen(loop_, {"127.0.0.1", 0, ""}, {}, this);
    TS_CHECK(server.ok());
    server_ = *std::move(server);
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~Process() override {
    loop_.Stop();
    thread_.join();
  }

  wire::Address address() const { return {"127.0.0.1", server_->port(), ""}; }

  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    if (message.kind != wire::MessageKind::kSync) return;
    ++asked;
    const wire::ReplyTicket ticket = connection.TakeTicket();
    if (const std::function<void()> before = Before()) before();
    if (fails) return connection.ReplyError(ticket, fmt::format("error {}", number_));
    if (half) return SendHalf(connection);
    if (whole) return connection.Reply(ticket, Long());
    if (hangs) return;
    if (closes) return connection.Close(absl::OkStatus());
    connection.Reply(ticket, Value::Long(number_));
  }
  void OnClosed(wire::Connection&, const absl::Status&) override { ++closed; }

  static Value Long() { return Value::String(std::string(2 * kForwardedBytesMin, 'x')); }

  std::atomic<bool> hangs{false}, closes{false};
  std::atomic<bool> whole{false}, half{false};  // Answers with Long(), or with a half of it.
  std::atomic<bool> fails{false};
  std::atomic<int> asked{0}, closed{0};
  // Sets what is called before each answer.
  void CallBefore(std::function<void()> before) {
    const std::lock_guard lock(mutex_);
    before_ = std::move(before);
  }

 private:
  std::function<void()> Before() {
    const std::lock_guard lock(mutex_);
    return before_;
  }
  void SendHalf(wire::Connection& connection) const {
    const ByteBuffer all = wire::EncodeMessage(wire::MessageKind::kResponse, Long());
    ByteBuffer bytes;
    bytes.Append(all.span().first(all.size() / 2));
    connection.Send(std::move(bytes));
    if (closes) connection.CloseWhenSent(10s);
  }

  const int64_t number_;
  std::mutex mutex_;
  std::function<void()> before_;  // Guarded by mutex_.
  wire::EventLoop loop_;
  std::unique_ptr<wire::Server> server_;
  std::thread thread_;
};

class ReplicasTest : public testing::Test {
 protected:
  void Make(ReplicaOptions options = {}, std::vector<wire::Address> urgent = {}) {
    std::vector<wire::Address> addresses;
    for (const Process* const process : {&first_, &second_})
      addresses.push_back(process->address());
    Make(addresses, urgent, options);
  }
  void Make(const std::vector<wire::Address>& addresses, const std::vector<wire::Address>& urgent,
            const ReplicaOptions& options) {
    askers_ = std::make_unique<AskerPool>();
    replicas_ = std::make_unique<Replicas>("rdb", addresses, urgent, options);
  }
  // Returns the number that answers; the error's text if there is none.
  std::string Ask(bool only_reads = true, std::chrono::milliseconds at_most = 10s,
                  std::string_view user = "", const std::vector<bool>& may = {}) {
    query::Limits limits;
    limits.deadline = std::chrono::steady_clock::now() + at_most;
    limits.user = user;
    const absl::StatusOr<Value> answer =
        askers_->Ask({replicas_.get(), &who_, only_reads, may}, limits);
    return answer.ok() ? std::to_string(answer->as<int64_t>())
                       : std::string(Message(answer.status()));
  }
  // Makes a replica silent, as the watch does.
  void Silence(size_t replica) { replicas_->at(replica).waits_since_ns = SteadyNs() - 500'000'000; }

  Process first_{1}, second_{2};
  const Value who_ = Value::String("who");
  std::unique_ptr<Replicas> replicas_;
  std::unique_ptr<AskerPool> askers_;
};

TEST_F(ReplicasTest, TakeTurns) {
  Make();
  for (int i = 0; i < 20; ++i) Ask();
  EXPECT_EQ(first_.asked, 10);
  EXPECT_EQ(second_.asked, 10);
  EXPECT_EQ(replicas_->at(0).answers, 10u);
  EXPECT_EQ(replicas_->at(0).under_way, 0);
}

TEST_F(ReplicasTest, TheLessBusyOneIsAsked) {
  Make();
  replicas_->at(0).under_way = 3;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Ask(), "2");
  replicas_->at(1).under_way = 4;
  EXPECT_EQ(Ask(), "1");
}

TEST_F(ReplicasTest, AnotherOneIsAskedIfTheConnectionEnds) {
  Make();
  first_.closes = true;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Ask(), "2");
  EXPECT_GE(replicas_->at(0).failures, 1u);
  EXPECT_LE(first_.asked, 2) << "it rests after a failure";
}

TEST_F(ReplicasTest, WhatMayChangeSomethingIsNotSentTwice) {
  Make();
  first_.closes = second_.closes = true;
  EXPECT_THAT(Ask(/*only_reads=*/false), testing::StartsWith("rdb: no answer: 127.0.0.1:"));
  EXPECT_EQ(first_.asked + second_.asked, 1);
}

TEST_F(ReplicasTest, WhatWasNotSentGoesToAnotherOne) {
  // Nobody listens at this address.
  const wire::Address nobody = Process(0).address();
  Make({nobody, second_.address()}, {}, {});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Ask(/*only_reads=*/false), "2");
  Make({nobody}, {}, {});
  EXPECT_THAT(Ask(), testing::StartsWith("rdb: no answer: " + nobody.ToString() + ": "));
}

TEST_F(ReplicasTest, ASilentOneIsHedged) {
  Make({.hedge_ns = 20'000'000});
  first_.hangs = second_.hangs = true;
  std::thread wakes([this] {
    while (first_.asked + second_.asked == 0) std::this_thread::sleep_for(1ms);
    const size_t slow = first_.asked > 0 ? 0 : 1;
    (slow == 0 ? second_ : first_).hangs = false;
    Silence(slow);
  });
  const std::string answer = Ask();
  wakes.join();
  EXPECT_EQ(answer, first_.hangs ? "2" : "1");
  EXPECT_EQ(replicas_->at(0).hedged + replicas_->at(1).hedged, 1u);
  EXPECT_EQ(replicas_->at(0).under_way + replicas_->at(1).under_way, 0);
  // The connection to the one that hangs is closed, so that it need not evaluate any more.
  while (first_.closed + second_.closed == 0) std::this_thread::sleep_for(1ms);
}

TEST_F(ReplicasTest, ALongQueryIsNotSentTwice) {
  Make({.hedge_ns = 1'000'000});
  first_.hangs = second_.hangs = true;
  EXPECT_THAT(Ask(true, 200ms), testing::HasSubstr("no answer from 127.0.0.1:"));
  EXPECT_EQ(first_.asked + second_.asked, 1) << "the watch says that both answer";
}

// Counts what it gets.
class Counter final : public AnswerSink {
 public:
  bool Begin(size_t bytes) override {
    total = bytes;
    return true;
  }
  void Add(std::span<const std::byte> bytes, const std::shared_ptr<const void>&) override {
    got += bytes.size();
  }
  size_t total = 0;
  std::atomic<size_t> got{0};
};

TEST_F(ReplicasTest, ALongAnswerGoesToItsClientWhileItArrives) {
  Make();
  first_.whole = second_.whole = true;
  Counter client;
  query::Limits limits;
  limits.sink = &client;
  const absl::StatusOr<Value> answer = askers_->Ask({replicas_.get(), &who_}, limits);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(client.total,
            wire::EncodeMessage(wire::MessageKind::kResponse, Process::Long()).size());
  EXPECT_EQ(client.got, client.total);
  // The connection is used again, and an answer above the limit is not begun.
  Counter other;
  limits.sink = &other;
  limits.max_result_bytes = kForwardedBytesMin;
  EXPECT_TRUE(*askers_->Ask({replicas_.get(), &who_}, limits) == Process::Long());
  EXPECT_EQ(other.total, 0u);
}

TEST_F(ReplicasTest, AnAnswerThatHasBegunIsNotAskedForAgain) {
  Make();
  first_.half = second_.half = first_.closes = second_.closes = true;
  Counter client;
  query::Limits limits;
  limits.sink = &client;
  const absl::StatusOr<Value> answer = askers_->Ask({replicas_.get(), &who_}, limits);
  EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
  EXPECT_EQ(client.got, client.total / 2);
  EXPECT_EQ(first_.asked + second_.asked, 1);
}

TEST_F(ReplicasTest, AnAnswerThatHasBegunIsNotHedged) {
  Make({.hedge_ns = 1'000'000});
  first_.half = second_.half = true;
  Counter client;
  query::Limits limits;
  limits.deadline = std::chrono::steady_clock::now() + 300ms;
  std::thread silences([&] {
    while (client.got == 0) std::this_thread::sleep_for(1ms);
    Silence(0);
    Silence(1);
  });
  limits.sink = &client;
  const absl::StatusOr<Value> answer = askers_->Ask({replicas_.get(), &who_}, limits);
  silences.join();
  EXPECT_EQ(query::QErrorText(answer.status()), "stop");
  EXPECT_EQ(first_.asked + second_.asked, 1);
  EXPECT_EQ(replicas_->at(0).under_way + replicas_->at(1).under_way, 0);
}

TEST_F(ReplicasTest, SilentOnesAreTheLastResort) {
  Make();
  Silence(0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Ask(), "2");
  Silence(1);
  EXPECT_THAT(Ask(), testing::AnyOf("1", "2"));
}

TEST_F(ReplicasTest, UsersHaveTheirReplicas) {
  Process urgent(3);
  Make({.urgent_users = {"desk"}}, {urgent.address()});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Ask(true, 10s, "desk"), "3");
    EXPECT_THAT(Ask(true, 10s, "other"), testing::AnyOf("1", "2"));
  }
  Silence(2);
  EXPECT_THAT(Ask(true, 10s, "desk"), testing::AnyOf("1", "2"));
  replicas_->at(2).waits_since_ns = 0;
  Silence(0);
  Silence(1);
  EXPECT_EQ(Ask(true, 10s, "other"), "3");
}

TEST_F(ReplicasTest, OnlyThoseThatMayAreAsked) {
  Make();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Ask(true, 10s, "", {false, true}), "2");
  EXPECT_EQ(Ask(true, 10s, "", {false, false}), "rdb: none of them has this");
}

TEST_F(ReplicasTest, ANewConnectionAsksFirstWhetherItIsReady) {
  // These processes answer the question with a number, which is not `true`.
  Make({.link = {.ready_question = Value::String("ready")}});
  EXPECT_THAT(Ask(/*only_reads=*/false),
              testing::MatchesRegex("rdb: no answer: .*: it is not ready; .*: it is not ready"));
}

// An idle connection may have ended, or be ended by a process that has started over.
TEST_F(ReplicasTest, AsksAgainIfAConnectionThatWasUsedBeforeEnds) {
  Make();
  std::atomic<int> question{0};
  first_.CallBefore([&] { first_.closes = question++ % 2 == 1; });
  const std::vector<bool> only_first = {true, false};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Ask(true, 10s, "", only_first), "1") << i;
  EXPECT_EQ(replicas_->at(0).failures, 0u);
  // Not if it may be evaluated twice.
  question = 0;
  EXPECT_NE(Ask(/*only_reads=*/false, 10s, "", only_first), "");
  question = 1;
  EXPECT_THAT(Ask(/*only_reads=*/false, 10s, "", only_first),
              testing::StartsWith("rdb: no answer"));
}

TEST_F(ReplicasTest, ACancelledQuestionEnds) {
  Make();
  first_.hangs = second_.hangs = true;
  std::atomic<bool> cancelled{false};
  query::Limits limits;
  limits.cancelled = &cancelled;
  std::thread client([&] {
    while (first_.asked + second_.asked == 0) std::this_thread::sleep_for(1ms);
    cancelled = true;
  });
  const absl::StatusOr<Value> answer = askers_->Ask({replicas_.get(), &who_}, limits);
  client.join();
  EXPECT_EQ(query::QErrorText(answer.status()), "stop");
}

TEST_F(ReplicasTest, ManyThreadsAskAtTheSameTime) {
  Make();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) right += Ask().size() == 1 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
  EXPECT_EQ(replicas_->at(0).under_way + replicas_->at(1).under_way, 0);
}

TEST_F(ReplicasTest, OthersAreAskedIfNoneOfTheFirstAnswers) {
  Make();
  const Question question{replicas_.get(), &who_, true, {true, false}, {false, true}};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(askers_->Ask(question, {})->as<int64_t>(), 1);
  first_.closes = true;
  EXPECT_EQ(askers_->Ask(question, {})->as<int64_t>(), 2);
  second_.closes = true;
  EXPECT_THAT(std::string(Message(askers_->Ask(question, {}).status())),
              testing::MatchesRegex("rdb: no answer: .*; .*"));
  Question changes = question;
  changes.only_reads = false;
  second_.closes = false;
  EXPECT_THAT(std::string(Message(askers_->Ask(changes, {}).status())),
              testing::StartsWith("rdb: no answer: " + first_.address().ToString()));
}

// Goal: a moment of silence does not bring the day back that another replica still has.
TEST_F(ReplicasTest, OthersAreAskedOnceTheFirstIsLost) {
  Make({.hedge_ns = 1'000'000});
  const Question question{replicas_.get(), &who_, true, {true, false}, {false, true}};
  first_.hangs = true;
  Silence(0);
  std::thread wakes([this] {
    while (first_.asked == 0) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(50ms);  // Many times hedge_ns.
    EXPECT_EQ(second_.asked, 0);
    replicas_->at(0).waits_since_ns = SteadyNs() - 3'000'000'000;
  });
  EXPECT_EQ(askers_->Ask(question, {})->as<int64_t>(), 2);
  wakes.join();
}

// Three groups of one process each.
class GroupsTest : public testing::Test {
 protected:
  GroupsTest() {
    for (size_t i = 0; i < 3; ++i) {
      processes_.push_back(std::make_unique<Process>(static_cast<int64_t>(i)));
      groups_.push_back(std::make_unique<Replicas>(
          fmt::format("group {}", i), std::vector{processes_[i]->address()},
          std::vector<wire::Address>(), ReplicaOptions{.hedge_ns = 0}));
    }
  }
  ~GroupsTest() override {
    for (const auto& group : groups_) EXPECT_EQ(group->at(0).under_way, 0);
  }

  // Asks groups. Returns the numbers that answer, and after them the text of an error.
  std::string Ask(const std::vector<size_t>& groups, query::Limits limits = {}) {
    std::vector<Question> questions;
    for (const size_t group : groups) questions.push_back({groups_[group].get(), &who_});
    if (limits.deadline == std::chrono::steady_clock::time_point::max()) {
      limits.deadline = std::chrono::steady_clock::now() + 10s;
    }
    std::string text;
    for (const absl::StatusOr<Value>& answer : askers_.Ask(questions, limits)) {
      text += answer.ok()
                  ? fmt::format("{} ", answer->is_atom_of(Type::kLong) ? answer->as<int64_t>() : -1)
                  : std::string(Message(answer.status()));
    }
    return text;
  }
  static void WaitUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 10'000 && !done(); ++i) std::this_thread::sleep_for(1ms);
  }

  std::vector<std::unique_ptr<Process>> processes_;
  const Value who_ = Value::String("who");
  std::vector<std::unique_ptr<Replicas>> groups_;
  AskerPool askers_;
};

TEST_F(GroupsTest, AreAskedAtTheSameTime) {
  // Nobody answers before all have the question, and the first one is the last to answer.
  std::atomic<int> answered{0};
  for (size_t i = 0; i < 3; ++i) {
    processes_[i]->CallBefore([&, i] {
      WaitUntil(
          [&] { return processes_[0]->asked + processes_[1]->asked + processes_[2]->asked == 3; });
      WaitUntil([&] { return answered == static_cast<int>(2 - i); });
      ++answered;
    });
  }
  EXPECT_EQ(Ask({0, 1, 2}), "0 1 2 ");
}

TEST_F(GroupsTest, GetOneQuestionAtATime) {
  for (size_t i = 0; i < 3; ++i) {
    processes_[i]->CallBefore([this, i] { EXPECT_EQ(groups_[i]->at(0).under_way, 1); });
  }
  EXPECT_EQ(Ask({0, 1, 0, 1, 1, 2, 0}), "0 1 0 1 1 2 0 ");
  EXPECT_EQ(processes_[1]->asked, 3);
}

TEST_F(GroupsTest, TheFirstErrorInOrderCounts) {
  // The second one fails first; the first one's error or answer is still waited for.
  processes_[0]->CallBefore([this] {
    WaitUntil([this] { return processes_[1]->asked > 0; });
    std::this_thread::sleep_for(20ms);
  });
  processes_[1]->fails = true;
  processes_[2]->hangs = true;
  EXPECT_EQ(Ask({0, 1, 2, 1}), "0 error 1");
  WaitUntil([this] { return processes_[2]->closed > 0; });
  EXPECT_EQ(processes_[2]->closed, 1) << "it is not waited for, and need not evaluate any more";
  EXPECT_EQ(processes_[1]->asked, 1) << "what comes after an error is not asked";
  processes_[0]->fails = true;
  processes_[2]->hangs = false;
  EXPECT_EQ(Ask({0, 1, 2}), "error 0");
  EXPECT_EQ(Ask({2, 1, 0}), "2 error 1");
  processes_[0]->closes = true;
  processes_[0]->fails = false;
  EXPECT_THAT(Ask({0, 1}), testing::StartsWith("group 0: no answer: "));
}

TEST_F(GroupsTest, TheFirstOneThatHangsIsNamed) {
  processes_[1]->hangs = processes_[2]->hangs = true;
  query::Limits limits;
  limits.deadline = std::chrono::steady_clock::now() + 1s;
  EXPECT_THAT(Ask({0, 2, 1}, limits),
              testing::MatchesRegex("0 stop: group 2: no answer from .* in time"));
}

// Method: another group answers one question after the other, so that there is always an answer.
TEST_F(GroupsTest, TheTimeIsOverAlthoughOthersAnswer) {
  constexpr size_t kQuestions = 400;
  processes_[0]->hangs = true;
  processes_[1]->CallBefore([] { std::this_thread::sleep_for(5ms); });
  std::vector<size_t> groups(kQuestions, 1);
  groups.front() = 0;
  query::Limits limits;
  limits.deadline = std::chrono::steady_clock::now() + 100ms;
  EXPECT_THAT(Ask(groups, limits),
              testing::MatchesRegex("stop: group 0: no answer from .* in time"));
  EXPECT_LT(processes_[1]->asked, static_cast<int>(kQuestions) / 2);
}

// Method: the second answer is too long, and is there before the first one fails.
TEST_F(GroupsTest, AnEarlierErrorCountsMoreThanALengthThatIsTooLarge) {
  processes_[0]->fails = processes_[1]->whole = true;
  processes_[0]->CallBefore([this] {
    WaitUntil([this] { return processes_[1]->asked > 0; });
    std::this_thread::sleep_for(100ms);
  });
  query::Limits limits;
  limits.max_result_bytes = kForwardedBytesMin;
  EXPECT_EQ(Ask({0, 1}, limits), "error 0");
  processes_[0]->fails = false;
  EXPECT_EQ(Ask({0, 1}, limits), "0 limit: answers of more than 1048576 bytes");
}

TEST_F(GroupsTest, ACancelledCallEnds) {
  processes_[0]->hangs = processes_[1]->hangs = true;
  std::atomic<bool> cancelled{false};
  query::Limits limits;
  limits.cancelled = &cancelled;
  std::thread client([&] {
    WaitUntil([this] { return processes_[0]->asked > 0 && processes_[1]->asked > 0; });
    cancelled = true;
  });
  EXPECT_EQ(Ask({0, 1, 2}, limits), "stop: the client is gone");
  client.join();
}

TEST_F(GroupsTest, TheirAnswersTogetherAreBounded) {
  processes_[0]->whole = processes_[1]->whole = true;
  query::Limits limits;
  limits.max_result_bytes = 3 * kForwardedBytesMin;
  EXPECT_EQ(Ask({0, 2}, limits), "-1 2 ");
  EXPECT_THAT(Ask({0, 1}, limits), testing::HasSubstr("limit: answers of more than 3145728 bytes"));
  EXPECT_THAT(Ask({0, 0}, limits), testing::HasSubstr("limit: answers of more than 3145728 bytes"));
  limits.max_result_bytes = 5 * kForwardedBytesMin;
  EXPECT_EQ(Ask({0, 1, 2}, limits), "-1 -1 2 ");
  // Bytes of an answer that is not wanted any more do not count.
  limits.max_result_bytes = 3 * kForwardedBytesMin;
  processes_[2]->fails = true;
  EXPECT_EQ(Ask({2, 0}, limits), "error 2");
  processes_[2]->fails = false;
  processes_[1]->fails = true;
  processes_[1]->CallBefore([this, before = processes_[0]->asked.load()] {
    WaitUntil([&] { return processes_[0]->asked > before; });
    std::this_thread::sleep_for(50ms);
  });
  EXPECT_EQ(Ask({2, 1, 0}, limits), "2 error 1");
}

TEST_F(GroupsTest, AreAskedByManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) right += Ask({0, 1, 2, 0}) == "0 1 2 0 " ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

}  // namespace
}  // namespace tickstack::gateway
