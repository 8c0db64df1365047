#pragma once

// Answers clients: one thread for the sockets, others for the evaluations, none of them the one
// that ingests. An evaluation works on what does not change while it runs, so however slow it is,
// upds go on; and its thread stands back for the ingest thread where there are too few cores for
// both.
//
//   sockets   OnMessage --> RequestQueue                        .--> Connection, stream by stream
//                              | a client's turn                |
//   threads                    '--> QueryRunner --> Answer -----'
//
// Bounds:
//   - requests are at most 16 MiB: a larger one is answered with an error and its bytes are
//     dropped; a client with kWaitingMax of them waiting, or 16 MiB, is read no further;
//   - what an evaluation builds is bounded by max_result_bytes, and with a scratch tier by what the
//     tier has left: a query that needs more fails alone, with an error that names the tier;
//   - an answer is its value, which leaves piece by piece (wire/message_stream.h). Until it has
//     left the client has no other evaluated; all of them together hold at most max_unread_bytes,
//     beyond which answers become errors; and who does not read is cut off after unread_timeout_ns.
//
// Messages that a request sends to its own client with `(neg .z.w) x` are such answers too. The
// thread that evaluates collects them; the socket thread queues them, then the answer. A client has
// one request running at a time and its requests are posted to the socket thread in their order, so
// the messages of a request leave after all earlier answers and before its own.

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "base/worker_pool.h"
#include "mem/tier_scratch.h"
#include "query/query.h"
#include "serve/query_counters.h"
#include "serve/query_runner.h"
#include "serve/request_queue.h"
#include "wire/event_loop.h"
#include "wire/listener_options.h"
#include "wire/server.h"

namespace tickstack::serve {

struct QueryServiceOptions {
  wire::ListenerOptions listener;
  int threads = 1;
  // Threads that help whichever evaluation has work for more than one; shared by all of them.
  size_t helpers = 0;
  int nice = 0;            // Of all these threads but the sockets'; see SetThreadNice.
  int64_t timeout_ns = 0;  // An evaluation that takes longer ends with `stop`; 0: never.
  int64_t slow_ns = 0;     // One that takes longer is logged; 0: none.
  // Where results and temporaries live, except for lists and blocks below 64 KiB; nullptr: malloc's
  // memory. Outlives the service.
  mem::Tier* scratch = nullptr;
  // What one evaluation may build; 0: the scratch tier's capacity, or 1 GiB without one.
  size_t max_result_bytes = 0;
  // What answers may hold until they are read, all clients together; 0: twice what one evaluation
  // may build.
  size_t max_unread_bytes = 0;
  // A client is cut off if it has not read an answer after so long and a second per 4 MiB; 0:
  // never.
  int64_t unread_timeout_ns = 60 * kNsPerSecond;
};

class QueryService : public wire::ServerHandler {
 public:
  // Listens and answers from now on. `environment`, which several threads ask at a time, and
  // `counters` outlive the service. kUnavailable if the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<QueryService>> Start(const QueryServiceOptions& options,
                                                             query::Environment* environment,
                                                             QueryCounters* counters);
  // Cancels what is being evaluated, closes all connections, joins all threads.
  ~QueryService() override;

  uint16_t port() const { return server_->port(); }

  // On the socket thread.
  void OnOpened(wire::Connection& connection) override;
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override;
  bool OnTooLarge(wire::Connection& connection, wire::MessageKind kind, uint64_t bytes) override;
  void OnSent(wire::Connection& connection) override;
  void OnClosed(wire::Connection& connection, const absl::Status& why) override;

 private:
  QueryService(const QueryServiceOptions& options, query::Environment* environment,
               QueryCounters* counters);

  // On the threads that evaluate.
  void Work();
  Replies Admit(const QueryRequest& request, Replies replies);
  wire::Answer AdmitAnswer(QueryClient& client, wire::Answer answer);
  bool AdmitMessage(QueryClient& client, size_t bytes);

  // On the socket thread.
  void Push(wire::Connection& connection, QueryRequest request);
  void Deliver(const QueryRequest& request, Replies replies);
  void CountSent(const std::shared_ptr<QueryClient>& client, int64_t now_ns);
  void Forget(QueryClient& client, size_t bytes);
  void LookRound();

  const QueryServiceOptions options_;
  QueryCounters& counters_;
  std::optional<mem::TierScratch> scratch_;  // Before all that may hold an answer.
  const size_t max_result_bytes_;
  const size_t max_unread_bytes_;
  wire::EventLoop free_loop_;  // Before all that may hold an answer, too.
  WorkerPool helpers_;         // Before the threads that evaluate.
  RequestQueue queue_;
  QueryRunner runner_;

  wire::EventLoop loop_;
  std::unordered_map<uint64_t, std::shared_ptr<QueryClient>> clients_;  // The socket thread's.
  wire::Timer look_round_;
  std::unique_ptr<wire::Server> server_;
  std::thread free_thread_;
  std::thread socket_thread_;
  std::vector<std::thread> workers_;
};

}  // namespace tickstack::serve
