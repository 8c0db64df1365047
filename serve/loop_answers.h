#pragma once

// For processes that evaluate a request on the thread that does their work: what it sends to its
// client, within query::LoopLimits.

#include "absl/status/status.h"
#include "query/language/environment.h"
#include "query/language/client_handle.h"
#include "wire/connection.h"

namespace tickstack::serve {

// What a request can know of the connection that it came by. A connection of the HTTP gateway,
// which several clients may share, has no handle.
query::ClientFacts FactsOf(const wire::Connection& connection);

// Evaluates a request and sends its messages to the asking client, then its answer if it is
// synchronous. Returns the evaluation's error, which is the answer as well.
//
// Threads: the connection's loop. The request is evaluated, and all that it sends is queued, before
// this returns, so requests and what they send stay in order.
absl::Status AnswerOnLoop(wire::Connection& connection, const wire::ReceivedMessage& message,
                          query::Environment& environment);

}  // namespace tickstack::serve
