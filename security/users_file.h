#pragma once

// The users file: who may log in, and with which rights. TOML, for example:
//
//   [groups.desk]
//   query = ["trade", "quote"]       # tables; "*" is all
//   subscribe = ["trade", "quote"]
//   symbols = ["IBM", "VOD"]         # of the tables in this section's `subscribe`; default: all
//   query_timeout = "5s"
//   query_max_bytes = "256MiB"
//   requests_per_second = 20
//
//   [users.alice]
//   password = "$argon2id$v=19$m=65536,t=2,p=1$..."
//   groups = ["desk"]
//   publish = ["orders"]
//   metrics = true
//   administer = true
//
// A user has its own rights and those of its groups. A user's own limit replaces the limits of its
// groups. If several groups have a limit, the smallest applies. docs/operating/security.md explains
// each key.

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "security/grants.h"
#include "wire/link_credentials.h"

namespace tickstack::security {

// Processes of a stack log in to each other as this user. It has no entry in the file.
using wire::kStackUser;

struct User {
  std::string password;  // The hash of the password.
  Grants grants;
  bool operator==(const User&) const = default;
};

using Users = std::map<std::string, User, std::less<>>;

// Parses the text of a users file. Errors: kInvalidArgument, with `name`, line, column and key.
absl::StatusOr<Users> ParseUsers(std::string_view text, std::string_view name);
// Reads a users file. Errors: those of ReadPrivateFile and ParseUsers.
absl::StatusOr<Users> LoadUsers(const std::string& path);

}  // namespace tickstack::security
