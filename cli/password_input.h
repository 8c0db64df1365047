#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tickstack::cli {

// Reads a password. On a terminal, asks for it twice and does not show it; otherwise, reads the
// first line of stdin. kInvalidArgument if the two differ, or the password cannot be one
// (security/password.h).
absl::StatusOr<std::string> ReadNewPassword();

}  // namespace tickstack::cli
