#pragma once

// Changes the text of a users file line by line, so that it keeps the comments and rights that
// people wrote. Each function parses its result before it returns it, so the result is always a
// valid users file.
//
// Errors: kInvalidArgument if the text or the result is not a valid users file; kNotFound if there
// is no such user, or if its section does not begin with `[users.NAME]`; kAlreadyExists if the new
// user exists.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tickstack::security {

// Adds a user with a hash. `lines` has the lines of its rights, such as `query = ["*"]`.
absl::StatusOr<std::string> AddUser(std::string_view text, std::string_view user,
                                    std::string_view hash, std::string_view lines);
// Replaces the hash of a user.
absl::StatusOr<std::string> ReplaceHash(std::string_view text, std::string_view user,
                                        std::string_view hash);
// Removes a user's section.
absl::StatusOr<std::string> RemoveUser(std::string_view text, std::string_view user);

}  // namespace tickstack::security
