#pragma once

// Evaluates the q that clients may send: it takes a string or a list, and returns a Value or an
// error. docs/q.md lists the subset. Whatever is outside of it gives the error `nyi` with the token
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

// Limits for a process that answers on the thread that does its work: enough for the questions of
// subscribers and operators, and too little to disturb the work. 50 levels, 16 KiB of text, 4 MiB,
// 20 ms of processor time and 220 ms of wall-clock time.
//
// The bound on memory also bounds time: between two checks of the clock, an evaluation passes over
// its data a few times at most, and 4 MiB are copied, cleared and freed in 1 to 5 ms.
Limits LoopLimits();

// Evaluates the expressions of a text, `;` between them, and returns the last one's value; the
// generic null for an empty text.
//
// Errors:  a Status whose QErrorText() (columns/errors.h) is what q would signal and whose message
//          says more; its PositionOf() is the byte offset of the token at fault, if it is known.
//          Codes: kInvalidArgument, kNotFound (a name without a value), kUnimplemented
//          (nyi), kResourceExhausted (a limit). An error of Environment::Call is passed on
//          unchanged.
// Threads: reentrant; keeps no state between calls.
absl::StatusOr<Value> Evaluate(std::string_view text, Environment& environment,
                               const Limits& limits = {});

// Evaluates a request as it came off the wire:
//   "text"                   Evaluate()
//   (f; x; y...)             f applied to the values: f is a string or char (text of an expression,
//                            often a name or a lambda), a symbol (a name) or a function
//   `f`x`y                   the same: a list of symbols collapses to a vector on its way here
//   `name                    the value of that name
//   anything else            itself
// With `names`, those that the client assigned before are there, and those that this request
// assigns are kept, also if it ends with an error; not if it was too large for its memory. With
// `client`, the request knows its client; when this returns, also with an error, the client has the
// messages for that client, which leave before the answer.
absl::StatusOr<Value> EvaluateRequest(const Value& request, Environment& environment,
                                      const Limits& limits = {}, KeptNames* names = nullptr,
                                      ClientHandle* client = nullptr);

// Decodes the body of a message and evaluates it as a request. For LoopLimits: a request that has
// more than `limits.max_result_bytes`, on the wire or in memory, is `limit` before it is built.
absl::StatusOr<Value> EvaluateMessage(std::span<const std::byte> body, Environment& environment,
                                      const Limits& limits, ClientHandle* client = nullptr);

}  // namespace tickstack::query
