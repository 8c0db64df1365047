#pragma once

// Errors are values: absl::Status and absl::StatusOr. This file adds what the oldest supported
// abseil (20220623) lacks: macros, and functions that format a message with fmt.
//
// A message says where the error is, what was found and what was expected: `sym2020.03.09: message
// at byte 4096: 3 columns, table quote has 8`. Each code has one meaning:
//
//   kInvalidArgument     a value that the caller gave is wrong
//   kNotFound            there is no such file, table or name
//   kAlreadyExists       there is one already
//   kDataLoss            a checksum or count disagrees
//   kResourceExhausted   a limit was reached
//   kUnavailable         a peer or a lock is not available now; retry
//   kPermissionDenied    the client does not have the right
//   kFailedPrecondition  something must be changed first, such as a file's mode
//   kUnimplemented       not supported, such as a q expression outside the subset
//   kInternal            the system refused a call
//   kCancelled           a user or a stopping process ended the work
//   kUnknown             a peer answered with an error, whose text this is

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack {

// In Debian's abseil, absl::string_view is a type of its own. Convert only with these two
// functions, so that code also compiles where absl::string_view is std::string_view.
inline absl::string_view AbslView(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view StdView(absl::string_view text) { return {text.data(), text.size()}; }

inline std::string_view Message(const absl::Status& status) { return StdView(status.message()); }

#define TS_STATUS_MAKER(Name, Maker)                                          \
  template <typename... Args>                                                 \
  absl::Status Name(fmt::format_string<Args...> format, Args&&... args) {     \
    return Maker(AbslView(fmt::format(format, std::forward<Args>(args)...))); \
  }
TS_STATUS_MAKER(InvalidArgument, absl::InvalidArgumentError)
TS_STATUS_MAKER(NotFound, absl::NotFoundError)
TS_STATUS_MAKER(DataLoss, absl::DataLossError)
TS_STATUS_MAKER(ResourceExhausted, absl::ResourceExhaustedError)
TS_STATUS_MAKER(Unavailable, absl::UnavailableError)
TS_STATUS_MAKER(PermissionDenied, absl::PermissionDeniedError)
TS_STATUS_MAKER(Unimplemented, absl::UnimplementedError)
TS_STATUS_MAKER(Internal, absl::InternalError)
TS_STATUS_MAKER(FailedPrecondition, absl::FailedPreconditionError)
#undef TS_STATUS_MAKER

// Returns `call: strerror(error_number)`, with the code for that errno.
absl::Status ErrnoStatus(int error_number, std::string_view call);

// Returns the same status with `place: ` before its message. OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view place);

}  // namespace tickstack

#define TS_CONCAT_INNER(a, b) a##b
#define TS_CONCAT(a, b) TS_CONCAT_INNER(a, b)

#define TS_RETURN_IF_ERROR(expression)                                           \
  do {                                                                           \
    if (absl::Status ts_status_ = (expression); !ts_status_.ok()) [[unlikely]] { \
      return ts_status_;                                                         \
    }                                                                            \
  } while (false)

#define TS_ASSIGN_OR_RETURN_INNER(holder, target, expression) \
  auto holder = (expression);                                 \
  if (!holder.ok()) [[unlikely]] {                            \
    return std::move(holder).status();                        \
  }                                                           \
  target = std::move(holder).value()

#define TS_ASSIGN_OR_RETURN(target, expression) \
  TS_ASSIGN_OR_RETURN_INNER(TS_CONCAT(ts_status_or_, __LINE__), target, expression)
