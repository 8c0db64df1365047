#pragma once

// Errors as q names them. Each is a Status that carries the text q would signal as a payload, so
// that it survives being returned through many calls, and a message that says what was found.

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/scratch.h"
#include "base/status.h"
#include "table/types.h"

namespace tickstack::query {

// `signal` is sent to the client; the status's message is `signal: detail`.
absl::Status QError(absl::StatusCode code, std::string_view signal, std::string_view detail);

#define TS_Q_ERROR_MAKER(Name, code, signal)                                       \
  template <typename... Args>                                                      \
  absl::Status Name(fmt::format_string<Args...> format, Args&&... args) {          \
    return QError(code, signal, fmt::format(format, std::forward<Args>(args)...)); \
  }
TS_Q_ERROR_MAKER(TypeError, absl::StatusCode::kInvalidArgument, "type")
TS_Q_ERROR_MAKER(LengthError, absl::StatusCode::kInvalidArgument, "length")
TS_Q_ERROR_MAKER(RankError, absl::StatusCode::kInvalidArgument, "rank")
TS_Q_ERROR_MAKER(DomainError, absl::StatusCode::kInvalidArgument, "domain")
TS_Q_ERROR_MAKER(LimitError, absl::StatusCode::kResourceExhausted, "limit")
TS_Q_ERROR_MAKER(StackError, absl::StatusCode::kResourceExhausted, "stack")
TS_Q_ERROR_MAKER(StopError, absl::StatusCode::kResourceExhausted, "stop")
#undef TS_Q_ERROR_MAKER

// A text that is not valid q. `signal` is what q reports: the unclosed bracket, or a misplaced
// token. The status has `position`, a byte offset in that text.
absl::Status ParseError(std::string_view signal, size_t position, std::string_view detail);

// A feature outside the subset: `nyi: token`.
absl::Status NyiError(std::string_view token);

// A name without a value: the signal is the name itself, as in q.
absl::Status NameError(std::string_view name);

// Returns what reading a file returned, but with the query's `limit` if the process reached a
// bound.
template <typename T>
absl::StatusOr<T> OrLimit(absl::StatusOr<T> of_file) {
  if (of_file.status().code() != absl::StatusCode::kResourceExhausted) return of_file;
  return LimitError("{}", Message(of_file.status()));
}

// Runs f() with its large blocks in `scratch` (nullptr: malloc). If that is full, returns `limit:
// scratch memory NAME is full`.
template <typename F>
auto RunInScratch(ScratchMemory* scratch, F f) -> decltype(f()) {
  return InScratch(scratch, std::move(f), [&](const absl::Status& full) {
    return QError(full.code(), fmt::format("limit: scratch memory {} is full", scratch->name()),
                  Message(full));
  });
}

// The position of an error is the byte offset of the token at fault in the text of the request. An
// error keeps the first position that it gets: that of the innermost expression.
absl::Status AtPosition(absl::Status status, size_t position);
// For an error in another text, whose offsets mean nothing in the text of the request.
absl::Status WithoutPosition(absl::Status status);
std::optional<size_t> PositionOf(const absl::Status& status);

// Returns the text of an error as it is sent after byte 0x80: `type`, `length`, `rank`, `nyi: wj`,
// `limit`, `stop`, a name without a value... For an error that has no signal: its whole message.
std::string QErrorText(const absl::Status& status);

}  // namespace tickstack::query
