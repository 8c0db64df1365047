#pragma once

// Answers requests in processes that evaluate them on the thread that does their work, within
// query::LoopLimits.

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/language/client_handle.h"
#include "query/language/environment.h"
#include "table/value.h"
#include "wire/connection.h"

namespace tickstack::serve {

// Returns what a request can know about its connection. A connection of the HTTP gateway, which
// several clients may share, has no handle.
query::ClientFacts FactsOf(const wire::Connection& connection);

// Sends an answer, or its error, to the request that has the ticket.
void AnswerSync(wire::Connection& connection, wire::ReplyTicket ticket,
                const absl::StatusOr<Value>& answer);

// What a request sends to its client when its evaluation has ended.
struct LoopAnswer {
  std::vector<Value> messages;              // Sent first, in order.
  std::optional<wire::ReplyTicket> ticket;  // nullopt: the request is async and gets no answer.
  absl::StatusOr<Value> value;
};

// Evaluates a request, without sending anything. Threads: the connection's loop.
LoopAnswer EvaluateOnLoop(wire::Connection& connection, const wire::ReceivedMessage& message,
                          query::Environment& environment);
// Sends what EvaluateOnLoop returned for a request of this connection. Threads: the connection's
// loop.
void Send(wire::Connection& connection, const LoopAnswer& answer);

// Evaluates a request and sends its messages to the asking client, then its answer if it is
// synchronous. Returns the evaluation's error, which is the answer as well.
//
// Threads: the connection's loop. The request is evaluated, and all that it sends is queued, before
// this returns, so requests and what they send stay in order.
absl::Status AnswerOnLoop(wire::Connection& connection, const wire::ReceivedMessage& message,
                          query::Environment& environment);

}  // namespace tickstack::serve
