#pragma once

// Answers the queries of clients. One thread reads and writes the sockets, several others evaluate;
// none of them is the ingest thread. An evaluation works on a snapshot, so even a slow one does not
// block updates. The evaluating threads have a higher nice value than the ingest thread, so that
// the ingest thread runs first if there are too few cores for all.
//
//   sockets   OnMessage --> RequestQueue                        .--> Connection, stream by stream
//                              | clients take turns             |
//   threads                    '--> QueryRunner --> Answer -----'
//
// Bounds:
//   - A request has at most 16 MiB; a larger one is dropped and answered with an error. The service
//     stops reading from a client that has kWaitingMax requests or 16 MiB of requests waiting,
//     until at most half of that is waiting.
//   - An evaluation may use max_result_bytes of memory. If the scratch tier has less free, a query
//     that needs more fails with an error that names the tier; others continue.
//   - An answer is sent from its value in pieces (wire/message_stream.h). The client's next request
//     is evaluated after the answer has left. All unsent answers together hold at most
//     max_unread_bytes; further ones become errors. A client that does not read is disconnected
//     after unread_timeout_ns.
//
// A long answer that a gateway gets from another process is sent while it arrives
// (forwarded_answer.h).
//
// Messages that a request sends to its client with `(neg .z.w) x` count as answers. The evaluating
// thread collects them; the socket thread sends them and then the answer. A client has one request
// running at a time, so the messages of a request leave after all earlier answers.

#include <atomic>
#include <chrono>
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
  // Number of threads that all evaluations share for parallel steps.
  size_t helpers = 0;
  int nice = 0;            // Nice value of all threads of the service except the socket thread.
  int64_t timeout_ns = 0;  // An evaluation that takes longer fails with `stop`; 0: no limit.
  int64_t slow_ns = 0;     // An evaluation that takes longer is logged; 0: none is logged.
  // Tier for blocks of at least 64 KiB in results and temporaries; nullptr: malloc. Smaller blocks
  // and general lists always come from malloc. Must outlive the service.
  mem::Tier* scratch = nullptr;
  // Bytes that one evaluation may use; 0: the scratch tier's capacity, or 1 GiB without one.
  size_t max_result_bytes = 0;
  // Bytes that unread answers of all clients may hold together; 0: twice the limit of one
  // evaluation.
  size_t max_unread_bytes = 0;
  // A client that has not read an answer after this time, plus 1 s for every 4 MiB of it, is
  // disconnected; 0: never.
  int64_t unread_timeout_ns = 60 * kNsPerSecond;
  // Answers /metrics and the like, on the socket thread; nullptr: there are none. Must outlive the
  // service.
  wire::StatusSource* status = nullptr;
  // Changes (release) just before rows go that clients may have seen, as when an rdb starts over.
  // Clients that connected before that are disconnected, and get no answer that was evaluated after
  // it. One that asked whether the process is whole when it connected asks again. nullptr: rows
  // never go. Must outlive the service.
  const std::atomic<uint64_t>* contents = nullptr;
};

class QueryService : public wire::ServerHandler {
 public:
  // Starts listening and answering. Several threads call `environment` at the same time; it and
  // `counters` must outlive the service. kUnavailable if the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<QueryService>> Start(const QueryServiceOptions& options,
                                                             query::Environment* environment,
                                                             QueryCounters* counters);
  // Cancels running evaluations, closes all connections and joins all threads.
  ~QueryService() override;

  uint16_t port() const { return server_->port(); }

  // Stops accepting clients and returns the listeners, for a successor. Reads no more requests:
  // each client is disconnected when its received requests are answered and the answers are sent.
  // Blocks until the socket thread has done that, not until the clients are gone. Call it on the
  // thread that owns the service.
  std::vector<std::unique_ptr<wire::DetachedListener>> ReleaseListeners();
  // Waits until all clients are gone after ReleaseListeners. False if the time is over first.
  bool WaitForClients(std::chrono::nanoseconds at_most);

  // On the socket thread.
  void OnOpened(wire::Connection& connection) override;
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override;
  bool OnTooLarge(wire::Connection& connection, wire::MessageKind kind, uint64_t bytes) override;
  void OnSent(wire::Connection& connection) override;
  void OnClosed(wire::Connection& connection, const absl::Status& why) override;

 private:
  QueryService(const QueryServiceOptions& options, query::Environment* environment,
               QueryCounters* counters);

  class Forwarder;

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
  uint64_t Contents() const;
  void EndIfAnswered(QueryClient& client);
  void CheckClients();

  const QueryServiceOptions options_;
  QueryCounters& counters_;
  std::optional<mem::TierScratch> scratch_;  // Destroyed after all members that may hold an answer.
  const size_t max_result_bytes_;
  const size_t max_unread_bytes_;
  wire::EventLoop free_loop_;  // Destroyed after all members that may hold an answer.
  WorkerPool helpers_;         // Destroyed after the threads that evaluate.
  RequestQueue queue_;
  QueryRunner runner_;

  wire::EventLoop loop_;
  std::unordered_map<uint64_t, std::shared_ptr<QueryClient>> clients_;  // For the socket thread.
  bool released_ = false;  // For the socket thread: the listeners are gone, and clients must go.
  wire::Timer check_clients_;
  std::unique_ptr<wire::Server> server_;
  std::thread free_thread_;
  std::thread socket_thread_;
  std::vector<std::thread> workers_;
};

}  // namespace tickstack::serve
