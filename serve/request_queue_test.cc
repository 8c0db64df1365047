#include "serve/request_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace tickstack::serve {
namespace {

using testing::ElementsAre;

// A queue whose requests carry their names as refusals.
class RequestQueueTest : public testing::Test {
 protected:
  using Client = std::shared_ptr<QueryClient>;

  static QueryRequest Request(const Client& client, std::string name) {
    QueryRequest request;
    request.client = client;
    request.refusal = std::move(name);
    return request;
  }
  void Push(const Client& client, std::initializer_list<const char*> names) {
    for (const char* name : names) queue_.Push(Request(client, name));
  }
  // Takes a request and finishes it.
  std::string Next() {
    const std::optional<QueryRequest> request = queue_.Take();
    if (!request) return "stopped";
    queue_.Finish(request->client);
    return request->refusal;
  }
  std::vector<std::string> Next(int n) {
    std::vector<std::string> names;
    for (int i = 0; i < n; ++i) names.push_back(Next());
    return names;
  }

  RequestQueue queue_;
  Client a_ = std::make_shared<QueryClient>(), b_ = std::make_shared<QueryClient>(),
         c_ = std::make_shared<QueryClient>();
};

TEST_F(RequestQueueTest, GoesRoundAmongClientsAndKeepsTheOrderOfEach) {
  Push(a_, {"a1", "a2", "a3", "a4"});
  Push(b_, {"b1"});
  Push(c_, {"c1", "c2"});
  EXPECT_THAT(Next(5), ElementsAre("a1", "b1", "c1", "a2", "c2"));
  Push(b_, {"b2"});
  EXPECT_THAT(Next(3), ElementsAre("a3", "b2", "a4"));
}

TEST_F(RequestQueueTest, RunsOneRequestOfAClientAtATime) {
  Push(a_, {"a1", "a2"});
  Push(b_, {"b1"});
  const std::optional<QueryRequest> first = queue_.Take();
  EXPECT_EQ(first->refusal, "a1");
  EXPECT_EQ(Next(), "b1");
  Push(b_, {"b2"});
  EXPECT_EQ(Next(), "b2");  // Not a2, because a1 runs.
  queue_.Finish(a_);
  EXPECT_EQ(Next(), "a2");
}

TEST_F(RequestQueueTest, GivesNoTurnToAClientThatDoesNotReadItsAnswers) {
  Push(a_, {"a1", "a2"});
  const std::optional<QueryRequest> first = queue_.Take();
  a_->unread_bytes = RequestQueue::kUnreadBytesMax + 1;
  queue_.Finish(a_);
  Push(a_, {"a3"});
  Push(b_, {"b1"});
  EXPECT_EQ(Next(), "b1");
  queue_.OnRead(b_);  // b does not wait for reading.
  queue_.OnRead(a_);  // Too few bytes were read.
  Push(b_, {"b2"});
  EXPECT_EQ(Next(), "b2");
  a_->unread_bytes = RequestQueue::kUnreadBytesMax;
  queue_.OnRead(a_);
  EXPECT_THAT(Next(2), ElementsAre("a2", "a3"));
}

TEST_F(RequestQueueTest, DropsWhatAClientThatLeftIsWaitingFor) {
  Push(a_, {"a1", "a2"});
  Push(b_, {"b1", "b2", "b3"});
  const std::optional<QueryRequest> running = queue_.Take();
  EXPECT_EQ(queue_.Drop(*b_).size(), 3u);
  EXPECT_EQ(queue_.Drop(*a_).size(), 1u);
  queue_.Finish(a_);
  Push(c_, {"c1"});
  EXPECT_EQ(Next(), "c1");
  queue_.Stop();
  EXPECT_EQ(Next(), "stopped");
}

// Goal: no request is lost, doubled, out of order or run beside another of its client, whatever the
// threads do. Method: three threads take, one pushes 20,000 requests of ten clients whose answers
// are now and then too many bytes, and a fifth thread reads them.
TEST_F(RequestQueueTest, KeepsEachClientsOrderUnderManyThreads) {
  constexpr int kClients = 10, kRequests = 20'000;
  std::vector<Client> clients;
  std::map<QueryClient*, std::vector<int>> seen;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_shared<QueryClient>());
    seen[clients.back().get()];
  }
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (const std::optional<QueryRequest> request = queue_.Take()) {
        // Each client's requests run one at a time, so its vector has one writer; the thread
        // sanitizer checks that.
        seen.at(request->client.get()).push_back(std::stoi(request->refusal));
        if (++taken % 3 == 0) request->client->unread_bytes += RequestQueue::kUnreadBytesMax + 1;
        queue_.Finish(request->client);
      }
    });
  }
  std::thread reader([&] {
    while (taken < kRequests) {
      for (const Client& client : clients) {
        if (client->unread_bytes == 0) continue;
        client->unread_bytes = 0;
        queue_.OnRead(client);
      }
      std::this_thread::yield();
    }
  });
  std::mt19937_64 rng(1);
  std::vector<int> pushed(kClients);
  for (int i = 0; i < kRequests; ++i) {
    const size_t client = rng() % kClients;
    queue_.Push(Request(clients[client], std::to_string(pushed[client]++)));
  }
  reader.join();
  queue_.Stop();
  for (std::thread& thread : threads) thread.join();
  for (size_t c = 0; c < kClients; ++c) {
    const std::vector<int>& numbers = seen.at(clients[c].get());
    ASSERT_EQ(numbers.size(), static_cast<size_t>(pushed[c]));
    for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], static_cast<int>(i));
  }
}

}  // namespace
}  // namespace tickstack::serve
