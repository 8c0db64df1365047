#include "serve/request_queue.h"

#include <algorithm>
#include <utility>

namespace tickstack::serve {

using State = QueryClient::State;

namespace {

// Reads relaxed and under the mutex. OnRead lowers the bytes before it takes the mutex, so either
// OnRead finds kReading or this function finds few bytes.
bool ReadsFirst(const QueryClient& client) {
  return client.unread_bytes.load(std::memory_order_relaxed) > RequestQueue::kUnreadBytesMax;
}

}  // namespace

void RequestQueue::Schedule(const std::shared_ptr<QueryClient>& client) {
  client->state = client->requests.empty() ? State::kIdle : State::kReady;
  if (client->state == State::kReady) turns_.push_back(client);
}

void RequestQueue::Push(QueryRequest request) {
  const std::shared_ptr<QueryClient> client = request.client;
  {
    const std::lock_guard lock(mutex_);
    client->requests.push_back(std::move(request));
    if (client->state != State::kIdle) return;
    Schedule(client);
  }
  wake_.notify_one();
}

std::optional<QueryRequest> RequestQueue::Take() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopped_ || !turns_.empty(); });
  if (stopped_) return std::nullopt;
  const std::shared_ptr<QueryClient> client = std::move(turns_.front());
  turns_.pop_front();
  client->state = State::kRunning;
  QueryRequest request = std::move(client->requests.front());
  client->requests.pop_front();
  return request;
}

// Wakes no thread: the one that finished takes the next turn, of this client or an earlier one.
void RequestQueue::Finish(const std::shared_ptr<QueryClient>& client) {
  const std::lock_guard lock(mutex_);
  if (ReadsFirst(*client)) {
    client->state = State::kReading;
  } else {
    Schedule(client);
  }
}

void RequestQueue::OnRead(const std::shared_ptr<QueryClient>& client) {
  {
    const std::lock_guard lock(mutex_);
    if (client->state != State::kReading || ReadsFirst(*client)) return;
    Schedule(client);
  }
  wake_.notify_one();
}

std::deque<QueryRequest> RequestQueue::Drop(QueryClient& client) {
  const std::lock_guard lock(mutex_);
  std::erase_if(turns_, [&](const auto& each) { return each.get() == &client; });
  if (client.state == State::kReady) client.state = State::kIdle;
  return std::exchange(client.requests, {});
}

void RequestQueue::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
}

}  // namespace tickstack::serve
