#include "serve/request_queue.h"

#include <algorithm>
#include <utility>

namespace tickstack::serve {

using Turn = QueryClient::Turn;

namespace {

// Relaxed, and under the mutex: OnRead takes it after the bytes have come down, so either it finds
// kReads or we find few bytes.
bool ReadsFirst(const QueryClient& client) {
  return client.unread_bytes.load(std::memory_order_relaxed) > RequestQueue::kUnreadBytesMax;
}

}  // namespace

void RequestQueue::GiveTurn(const std::shared_ptr<QueryClient>& client) {
  client->turn = client->requests.empty() ? Turn::kNothingToDo : Turn::kReady;
  if (client->turn == Turn::kReady) turns_.push_back(client);
}

void RequestQueue::Push(QueryRequest request) {
  const std::shared_ptr<QueryClient> client = request.client;
  {
    const std::lock_guard lock(mutex_);
    client->requests.push_back(std::move(request));
    if (client->turn != Turn::kNothingToDo) return;
    GiveTurn(client);
  }
  wake_.notify_one();
}

std::optional<QueryRequest> RequestQueue::Take() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopped_ || !turns_.empty(); });
  if (stopped_) return std::nullopt;
  const std::shared_ptr<QueryClient> client = std::move(turns_.front());
  turns_.pop_front();
  client->turn = Turn::kRunning;
  QueryRequest request = std::move(client->requests.front());
  client->requests.pop_front();
  return request;
}

// Wakes nobody: whoever finished takes the next turn, this client's or an earlier one.
void RequestQueue::Finish(const std::shared_ptr<QueryClient>& client) {
  const std::lock_guard lock(mutex_);
  if (ReadsFirst(*client)) {
    client->turn = Turn::kReads;
  } else {
    GiveTurn(client);
  }
}

void RequestQueue::OnRead(const std::shared_ptr<QueryClient>& client) {
  {
    const std::lock_guard lock(mutex_);
    if (client->turn != Turn::kReads || ReadsFirst(*client)) return;
    GiveTurn(client);
  }
  wake_.notify_one();
}

std::deque<QueryRequest> RequestQueue::Drop(QueryClient& client) {
  const std::lock_guard lock(mutex_);
  std::erase_if(turns_, [&](const auto& each) { return each.get() == &client; });
  if (client.turn == Turn::kReady) client.turn = Turn::kNothingToDo;
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
