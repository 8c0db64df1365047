#pragma once

// Answers clients: one thread for the sockets, others for the evaluations, none of them the one
// that ingests. An evaluation works on snapshots, so however slow it is, upds go on.
//
// Bounds: a client that does not wait for its answers is read no further once kWaitingMax of its
// requests wait; requests are at most 16 MiB; what an evaluation builds is bounded by
// max_result_bytes, and with a scratch tier by what the tier has left: a query that needs more
// fails alone, with an error that names the tier.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/worker_pool.h"
#include "mem/tier_scratch.h"
#include "rdb/rdb_environment.h"
#include "wire/listener_options.h"

namespace tickstack::rdb {

struct QueryServiceOptions {
  wire::ListenerOptions listener;
  int threads = 1;
  // Threads that help whichever evaluation has work for more than one; shared by all of them.
  size_t helpers = 0;
  int64_t timeout_ns = 0;  // An evaluation that takes longer ends with `stop`; 0: never.
  // Where results, temporaries and encoded answers live, except for lists and blocks below 64 KiB;
  // nullptr: malloc's memory. Outlives the service. An answer is there twice while it is encoded.
  mem::Tier* scratch = nullptr;
  // What one evaluation may build; 0: the scratch tier's capacity, or 1 GiB without one.
  size_t max_result_bytes = 0;
};

class QueryService : public wire::ServerHandler {
 public:
  // Listens and answers from now on. `environment` outlives the service. kUnavailable if the
  // address cannot be bound.
  static absl::StatusOr<std::unique_ptr<QueryService>> Start(const QueryServiceOptions& options,
                                                             RdbEnvironment* environment);
  // Cancels what is being evaluated, closes all connections, joins all threads.
  ~QueryService() override;

  uint16_t port() const { return server_->port(); }

  // On the socket thread.
  void OnOpened(wire::Connection& connection) override;
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override;
  void OnClosed(wire::Connection& connection, const absl::Status& why) override;

 private:
  struct Client;
  struct Request {
    std::shared_ptr<Client> client;
    std::span<const std::byte> body;
    std::shared_ptr<const void> owner;
    std::optional<wire::ReplyTicket> ticket;  // None: nobody waits for the answer.
  };

  QueryService(const QueryServiceOptions& options, RdbEnvironment* environment);
  void Work();
  ByteBuffer Answer(const Request& request);
  void Done(Request request, ByteBuffer answer);  // Any thread.

  const QueryServiceOptions options_;
  RdbEnvironment* const environment_;
  std::optional<mem::TierScratch> scratch_;  // Before all that may hold an answer.
  const size_t max_result_bytes_;
  std::atomic<bool> stopping_{false};
  WorkerPool helpers_;  // Before the threads that evaluate.

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Request> requests_;  // Guarded by mutex_.

  wire::EventLoop loop_;
  std::vector<std::shared_ptr<Client>> clients_;  // The socket thread's.
  std::unique_ptr<wire::Server> server_;
  std::thread socket_thread_;
  std::vector<std::thread> workers_;
};

}  // namespace tickstack::rdb
