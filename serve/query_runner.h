#pragma once

// One request to its answer: decodes, evaluates within the limits, counts, and writes down what was
// slow. No sockets; query_service.h says who waits for whom.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/logging.h"
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
  query::Limits limits;    // Of each evaluation; the deadline and the flag are set for each.
  int64_t timeout_ns = 0;  // 0: none.
  int64_t slow_ns = 0;     // An evaluation that takes longer is logged; 0: none is.
  // Large answers are freed there, once they were sent: giving a GB back to the system takes tens
  // of ms, which would hold up whoever sends. Outlives all answers.
  wire::EventLoop* free_on = nullptr;
};

// Threads: any number of them may call Run.
class QueryRunner {
 public:
  QueryRunner(const QueryRunnerOptions& options, query::Environment* environment,
              QueryCounters* counters)
      : options_(options), environment_(environment), counters_(counters) {}

  // A bare `limit` goes on the wire with the limit's name and numbers.
  Replies Run(const QueryRequest& request);

 private:
  absl::StatusOr<Value> Evaluate(const Value& asked, const QueryRequest& request,
                                 query::Asker& asker);
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
