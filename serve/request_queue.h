#pragma once

// Decides which client's request runs next. The requests of one client run in order, one at a time;
// clients take turns:
//
//   a: | a2 a3 a4 ... (a1 is running)
//   b: | b1                                turns: b, c
//   c: | c1 c2                             when a1 is done, a is queued after c
//
// A client with many or long requests therefore occupies at most one thread, and does not delay
// others by more than one request each. A client with unread answers gets no turn until it has read
// them.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "query/language/client_handle.h"
#include "query/language/kept_names.h"
#include "security/user_rights.h"
#include "serve/unread_answers.h"
#include "wire/connection.h"

namespace tickstack::serve {

struct QueryClient;

struct QueryRequest {
  std::shared_ptr<QueryClient> client;
  std::span<const std::byte> body;
  std::shared_ptr<const void> owner;
  std::optional<wire::ReplyTicket> ticket{};  // nullopt: an async request.
  int64_t arrived_ns = 0;                     // MonotonicNs().
  std::string refusal{};  // If not empty, the error that answers it instead of an evaluation.
  // False for a question about the process, such as `.rdb.stats[]`: those who watch it would count
  // one another.
  bool counts_as_waiting = true;
};

struct QueryClient {
  // kReading: the client has more than kUnreadBytesMax unread, and gets no turn.
  enum class State : uint8_t { kIdle, kReady, kRunning, kReading };

  // Do not change after the client has connected.
  std::string peer{};
  wire::AnswerForm form{};
  query::ClientFacts facts{};
  security::Access access{};
  uint64_t contents = 0;  // QueryServiceOptions::contents.

  // The names that the client assigned. Used by the thread that evaluates its request. nullopt for
  // clients of HTTP, because several may share a connection.
  std::optional<query::KeptNames> names{};

  // Used by any thread.
  std::atomic<bool> gone{false};        // Cancels its running evaluation.
  std::atomic<size_t> unread_bytes{0};  // Bytes of its answers that are not completely sent.

  // Owned by the socket thread.
  std::shared_ptr<wire::Connection> connection{};  // nullptr: disconnected.
  UnreadAnswers unread{};
  size_t waiting = 0;        // Number of unanswered requests.
  size_t waiting_bytes = 0;  // Bytes of unanswered requests.
  bool paused = false;

  // Owned by the queue, under its mutex.
  std::deque<QueryRequest> requests{};
  State state = State::kIdle;
};

// Threads: any.
class RequestQueue {
 public:
  // A client with more unread bytes than this gets no turn.
  static constexpr size_t kUnreadBytesMax = size_t{1} << 20;

  void Push(QueryRequest request);
  // Blocks until a request may run; nullopt after Stop.
  std::optional<QueryRequest> Take();
  // Reports that the request that Take returned is done and its answer counted in `unread_bytes`.
  void Finish(const std::shared_ptr<QueryClient>& client);
  // Reports that `unread_bytes` has decreased.
  void OnRead(const std::shared_ptr<QueryClient>& client);
  // Removes and returns the waiting requests of a client that has disconnected.
  std::deque<QueryRequest> Drop(QueryClient& client);
  void Stop();

 private:
  void Schedule(const std::shared_ptr<QueryClient>& client);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<QueryClient>> turns_;  // Clients in state kReady. Guarded by mutex_.
  bool stopped_ = false;                            // Guarded by mutex_.
};

}  // namespace tickstack::serve
