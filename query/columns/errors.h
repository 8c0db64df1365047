#pragma once

// Errors by their names in q. An error is a Status whose payload is the signal, the text that q
// reports, and whose message says what was found.

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/scratch.h"
#include "base/status.h"
#include "table/types.h"

namespace tickstack::query {

// Returns an error with a signal, which is sent to the client. The status's message is
// `signal: detail`.
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

// The error of a text that is not valid q. `signal` is what q reports: the unclosed bracket, or the
// misplaced token. The error has `position`, a byte offset in that text.
absl::Status ParseError(std::string_view signal, size_t position, std::string_view detail);

// The error of a feature outside the subset: `nyi: token`.
absl::Status NyiError(std::string_view token);

// The error of a name without a value. Its signal is the name itself, as in q.
absl::Status NameError(std::string_view name);

// Returns the result of reading a file. kResourceExhausted, a bound of the process, becomes the
// query's error `limit`. An error that has a signal keeps it.
absl::Status OrLimit(const absl::Status& of_file);
template <typename T>
absl::StatusOr<T> OrLimit(absl::StatusOr<T> of_file) {
  if (of_file.status().code() != absl::StatusCode::kResourceExhausted) return of_file;
  return OrLimit(of_file.status());
}

// Runs f() with its large blocks in `scratch`, or from malloc if that is nullptr. If `scratch` is
// full, returns `limit: scratch memory NAME is full`.
template <typename F>
auto RunInScratch(ScratchMemory* scratch, F f) -> decltype(f()) {
  return InScratch(scratch, std::move(f), [&](const absl::Status& full) {
    return QError(full.code(), fmt::format("limit: scratch memory {} is full", scratch->name()),
                  Message(full));
  });
}

// Adds a position to an error: the byte offset of the token at fault in the text of the request. An
// error that has a position keeps it, because it is that of the innermost expression.
absl::Status AtPosition(absl::Status status, size_t position);
// Removes the position of an error in another text than that of the request.
absl::Status WithoutPosition(absl::Status status);
// Returns nullopt if the error has no position.
std::optional<size_t> PositionOf(const absl::Status& status);

// Returns the text of an error as it is sent to the client after byte 0x80: its signal, such as
// `type` or `nyi: wj`; for an error without a signal, its message.
std::string QErrorText(const absl::Status& status);

}  // namespace tickstack::query
