#pragma once

// Whose request is next. Each client's requests run in their order, one at a time; among clients it
// goes round:
//
//   a: | a2 a3 a4 ... (a1 is running)
//   b: | b1                                turns: b, c
//   c: | c1 c2                             when a1 is done, a goes behind c
//
// So a client that asks much, or for much, has at most one thread, and waits behind everybody who
// asks little. One whose answers lie unread has no turn until it has read them.

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

#include "query/language/asker.h"
#include "query/language/kept_names.h"
#include "serve/unread_answers.h"
#include "wire/connection.h"

namespace tickstack::serve {

struct QueryClient;

struct QueryRequest {
  std::shared_ptr<QueryClient> client;
  std::span<const std::byte> body;
  std::shared_ptr<const void> owner;
  std::optional<wire::ReplyTicket> ticket{};  // None: nobody waits for the answer.
  int64_t arrived_ns = 0;                     // MonotonicNs().
  std::string refusal{};  // Instead of a body: the error that answers it, in its turn.
};

struct QueryClient {
  enum class Turn : uint8_t { kNothingToDo, kReady, kRunning, kReads };

  // Fixed.
  std::string peer{};
  wire::AnswerForm form{};
  query::ClientFacts facts{};

  // Of who evaluates its request: one thread at a time. nullopt: of a client of HTTP, of which
  // several may share a connection, nothing is kept.
  std::optional<query::KeptNames> names{};

  // Any thread.
  std::atomic<bool> gone{false};        // Ends what is being evaluated for it.
  std::atomic<size_t> unread_bytes{0};  // Of answers that are made and not sent to the end.

  // The socket thread's.
  std::shared_ptr<wire::Connection> connection{};  // nullptr: it has left.
  UnreadAnswers unread{};
  size_t waiting = 0;  // Requests that are not answered, and their bytes.
  size_t waiting_bytes = 0;
  bool paused = false;

  // The queue's, under its mutex.
  std::deque<QueryRequest> requests{};
  Turn turn = Turn::kNothingToDo;
};

// Threads: any.
class RequestQueue {
 public:
  // A client with more unread bytes than this has no turn.
  static constexpr size_t kUnreadBytesMax = size_t{1} << 20;

  void Push(QueryRequest request);
  // Waits for the next request; nullopt after Stop.
  std::optional<QueryRequest> Take();
  // What Take returned for this client is done, and its answer's bytes are in `unread_bytes`.
  void Finish(const std::shared_ptr<QueryClient>& client);
  // `unread_bytes` has come down.
  void OnRead(const std::shared_ptr<QueryClient>& client);
  // The client has left: takes out what waits.
  std::deque<QueryRequest> Drop(QueryClient& client);
  void Stop();

 private:
  void GiveTurn(const std::shared_ptr<QueryClient>& client);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<QueryClient>> turns_;  // Guarded by mutex_: those that are kReady.
  bool stopped_ = false;                            // Guarded by mutex_.
};

}  // namespace tickstack::serve
