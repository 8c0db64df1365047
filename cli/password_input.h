#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tickstack::cli {

// Reads a new password of `user`. On a terminal, asks for it twice and does not show it, and asks
// again after a weak one; otherwise, reads the first line of stdin. kInvalidArgument if the two
// differ, if the password cannot be one (security/password.h), or if it is weak
// (security/password_strength.h).
absl::StatusOr<std::string> ReadNewPassword(std::string_view user);

}  // namespace tickstack::cli
