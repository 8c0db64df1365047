#pragma once

// The client that sent a request, for the evaluation of that request: `.z.w`, `.z.u` and `.z.a`,
// the messages that `(neg .z.w) x` sends back to it, and the answer that `-30!` gives instead of
// the value of the request.
//
//   thread that evaluates                    thread that owns the connection
//   Send, Send, Defer, Answer  -- Settle --> TakeMessages; sends the messages, then the answer
//
// Nothing is sent while the request is evaluated, so an evaluation never waits for a socket.
//
// Threads: one at a time. The evaluating thread passes it to the other one after the evaluation.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/language/term.h"
#include "table/value.h"

namespace tickstack::query {

struct ClientFacts {
  int32_t handle = 0;   // `.z.w`, positive; 0: the client cannot receive messages.
  std::string user;     // `.z.u`
  int32_t address = 0;  // `.z.a`, an IPv4 address as a number; 0: unknown.
};

class ClientHandle {
 public:
  static constexpr size_t kMaxMessages = 50'000;  // Per request.
  // Bytes that a message takes in addition to its value until it is sent.
  static constexpr size_t kMessageBytes = 256;

  // `awaits_answer` is false for an async request.
  ClientHandle(ClientFacts facts, bool awaits_answer)
      : facts_(std::move(facts)), awaits_answer_(awaits_answer) {}

  const ClientFacts& facts() const { return facts_; }

  // Keeps a message for the client. Errors: `limit` for more than kMaxMessages, or for more bytes
  // than the budget has; `stack` for lists that are nested too deeply.
  absl::Status Send(Value message, Budget& budget);

  // `-30!(::)`: the value of the request will not be its answer. Errors: `domain` for a request
  // that awaits no answer.
  absl::Status Defer();
  // `-30!(handle;is_error;value)`: answers the deferred request. Errors: `domain` for a handle that
  // awaits no deferred answer, and those of Send.
  absl::Status Answer(int32_t handle, bool is_error, Value value, Budget& budget);

  // Returns the answer to the request: that of Answer if it was deferred, else `result`, which is
  // what its evaluation returned. Errors: `deferred` if it was deferred and not answered.
  absl::StatusOr<Value> Settle(absl::StatusOr<Value> result);
  // True if nothing was sent, deferred or answered.
  bool is_unused() const { return messages_.empty() && !deferred_ && !answer_.has_value(); }
  // Returns the messages in the order of their calls of Send.
  std::vector<Value> TakeMessages() { return std::exchange(messages_, {}); }

 private:
  const ClientFacts facts_;
  const bool awaits_answer_;
  bool deferred_ = false;
  std::optional<absl::StatusOr<Value>> answer_;
  std::vector<Value> messages_;
};

// True if a term is `.z.w` or `neg .z.w` of a request that a client sent.
bool IsHandle(const Context& context, const Term& term);
// Applies a handle to a message and returns the generic null. A negative handle sends the message,
// except the generic null: in q this flushes the handle, which is not necessary here. Errors: `nyi:
// .z.w` for a positive handle, which would wait for the client's answer; those of
// ClientHandle::Send.
absl::StatusOr<Term> ApplyHandle(Context& context, const Term& handle, std::span<Term> args);

// True for the handles of q's console: 1 and 2, -1 and -2, and 0, which evaluates.
bool IsConsole(const Term& term);
// Applies a console handle. There is no console, so a text, or for -1 and -2 a list of lines, is
// shown nowhere, and the handle is the result, as in q. 0 evaluates its argument, as `value` does.
// Errors: `type` for what is no text, `rank`.
absl::StatusOr<Term> ApplyConsole(Context& context, const Term& handle, std::span<Term> args);

}  // namespace tickstack::query
