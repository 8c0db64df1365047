#pragma once

// Changes the text of a users file line by line, so that comments and rights that a person wrote
// stay. Each result is parsed before it is returned: what these functions return is a users file.
//
// Errors: kInvalidArgument if the text, or the result, is no users file; kNotFound if there is no
// such user, or if its section is not written as `[users.NAME]`; kAlreadyExists.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tickstack::security {

// Adds a user with a hash and further lines, such as `query = ["*"]`.
absl::StatusOr<std::string> AddUser(std::string_view text, std::string_view user,
                                    std::string_view hash, std::string_view lines);
// Replaces the hash of a user.
absl::StatusOr<std::string> ReplaceHash(std::string_view text, std::string_view user,
                                        std::string_view hash);
// Removes a user's section.
absl::StatusOr<std::string> RemoveUser(std::string_view text, std::string_view user);

}  // namespace tickstack::security
