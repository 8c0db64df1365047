#pragma once

// Credentials files: one line `user:password`, mode 0600. Processes of a stack and unattended
// programs log in with them, so that no password is on a command line.

#include <string>

#include "absl/status/statusor.h"
#include "security/secret.h"

namespace tickstack::security {

struct FileCredentials {
  std::string user;
  Secret password;
};

// Reads a credentials file. Errors: those of ReadPrivateFile; kInvalidArgument if the file has
// other content than this line.
absl::StatusOr<FileCredentials> LoadCredentials(const std::string& path);

// Like LoadCredentials, but creates a missing file with the user `stack` and a random secret.
// Processes that do this at the same time get the same secret.
absl::StatusOr<FileCredentials> LoadOrCreateCredentials(const std::string& path);

}  // namespace tickstack::security
