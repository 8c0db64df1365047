#pragma once

// Evaluates the q that clients may send: a string or a list becomes a Value or an error. docs/q.md
// lists the supported subset of q. A text with something else gives the error `nyi` with the token
// at fault, never a wrong result.
//
// The public reference, code.kx.com/q/ref, defines the meaning of every expression.

#include <cstddef>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/limits.h"
#include "query/language/client_handle.h"
#include "query/language/environment.h"
#include "query/language/kept_names.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the limits for a process that answers on the thread that also does its main work. They
// allow the requests of subscribers and operators, but too little to disturb that work: 50 levels
// of nesting, 500 levels of evaluation, 16 KiB of text, 4 MiB of memory, 20 ms of processor time
// and 220 ms of wall-clock time from this call on.
//
// The bound on memory also bounds time: between two checks of the clock, an evaluation passes over
// its data a few times at most, and 4 MiB are copied, cleared and freed in 1 to 5 ms.
Limits LoopLimits();

// Evaluates the expressions of a text, which `;` separates, and returns the value of the last one;
// the generic null for an empty text.
//
// Errors:  QErrorText() (columns/errors.h) of the Status is the signal that q would report, and its
//          message says more. PositionOf() is the byte offset of the token at fault, if known.
//          Codes: kInvalidArgument, kNotFound (a name without a value), kUnimplemented (`nyi`),
//          kResourceExhausted (a limit). An error of Environment::Call is returned unchanged.
// Threads: reentrant; keeps no state between calls.
absl::StatusOr<Value> Evaluate(std::string_view text, Environment& environment,
                               const Limits& limits = {});

// Evaluates a request as it came off the wire:
//   "text"                   Evaluate()
//   (f; x; y...)             f applied to the values: f is a string or char (text of an expression,
//                            often a name or a lambda), a symbol (a name) or a function
//   `f`x`y                   as (f; x; y), since a list of symbols arrives as a vector
//   `name                    the value of that name
//   anything else            itself
// With `names`, the request can use the names that its client assigned in earlier requests, and
// those that it assigns itself are kept, also after an error (unless its scratch memory was full).
// With `client`, the request can send messages to its client. When this function returns, also with
// an error, `client` holds these messages, which the caller sends before the answer.
absl::StatusOr<Value> EvaluateRequest(const Value& request, Environment& environment,
                                      const Limits& limits = {}, KeptNames* names = nullptr,
                                      ClientHandle* client = nullptr);

// Decodes the body of a message and evaluates it as a request. For use with LoopLimits: if the
// request needs more than `limits.max_result_bytes`, on the wire or in memory, the error is `limit`
// before it is built.
absl::StatusOr<Value> EvaluateMessage(std::span<const std::byte> body, Environment& environment,
                                      const Limits& limits, ClientHandle* client = nullptr);

}  // namespace tickstack::query
