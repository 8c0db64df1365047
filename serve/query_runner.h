#pragma once

// Turns a request into its answer: decodes it, evaluates it within the limits, counts it, and logs
// slow ones. Knows no sockets; query_service.h describes the threads.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/logging.h"
#include "base/time.h"
#include "query/query.h"
#include "serve/query_counters.h"
#include "serve/request_queue.h"
#include "wire/answer.h"
#include "wire/event_loop.h"

namespace tickstack::serve {

// What a request sends to its client.
struct Replies {
  std::vector<wire::Answer> messages;  // Async, in order; they leave before the answer.
  wire::Answer answer;                 // Without bytes if the client awaits none.

  size_t bytes() const;
};

struct QueryRunnerOptions {
  query::Limits limits;          // For each evaluation, which gets its own deadline and flag.
  int64_t timeout_ns = 0;        // 0: none.
  int64_t slow_ns = 0;           // An evaluation that takes longer is logged; 0: none is.
  const Clock* clock = nullptr;  // Required; must outlive the runner.
  // The loop on which large answers are freed after they were sent. Returning a GB to the system
  // takes tens of ms, which would delay the socket thread. Must outlive all answers.
  wire::EventLoop* free_on = nullptr;
};

// Threads: any number of them may call Run.
class QueryRunner {
 public:
  QueryRunner(const QueryRunnerOptions& options, query::Environment* environment,
              QueryCounters* counters)
      : options_(options), environment_(environment), counters_(counters) {}

  // Evaluates a request. The error `limit` is sent with the limit's name and numbers. If `sink`,
  // which may be nullptr, takes the answer, the result does not matter.
  Replies Run(const QueryRequest& request, AnswerSink* sink);

 private:
  absl::StatusOr<Value> Evaluate(const Value& asked, const QueryRequest& request,
                                 query::ClientHandle& handle, AnswerSink* sink);
  query::Limits LimitsOf(const QueryClient& client) const;
  void Count(const absl::Status& status, const QueryRequest& request);
  void LogIfSlow(const Value& asked, const QueryRequest& request, int64_t began_ns,
                 int64_t ended_ns);

  const QueryRunnerOptions options_;
  query::Environment* const environment_;
  QueryCounters* const counters_;
  LogLimit slow_limit_;
  LogLimit async_limit_;
};

}  // namespace tickstack::serve
