#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tickstack::cli {

// Returns a password: from a terminal, asked for twice and without echo, else the first line of
// stdin. kInvalidArgument if the two differ, or the password cannot be one (security/password.h).
absl::StatusOr<std::string> ReadNewPassword();

}  // namespace tickstack::cli
