#include "base/status.h"

#include <cerrno>
#include <cstring>

namespace tickstack {

absl::Status ErrnoStatus(int error_number, std::string_view call) {
  const std::string message = fmt::format("{}: {}", call, std::strerror(error_number));
  switch (error_number) {
    case ENOENT:
      return absl::NotFoundError(message);
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case ETIMEDOUT:
      return absl::UnavailableError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::Status Annotate(const absl::Status& status, std::string_view place) {
  if (status.ok()) return status;
  return absl::Status(status.code(), AbslView(fmt::format("{}: {}", place, Message(status))));
}

}  // namespace tickstack
