#pragma once

// Files with one line `user:password`, mode 0600: how processes of a stack, and programs that run
// unattended, log in. The password of such a file is never on a command line or in a log.

#include <string>

#include "absl/status/statusor.h"
#include "security/secret.h"

namespace tickstack::security {

struct FileCredentials {
  std::string user;
  Secret password;
};

// Errors: those of ReadPrivateFile; kInvalidArgument if the file is not one such line.
absl::StatusOr<FileCredentials> LoadCredentials(const std::string& path);

// The same, but if there is no such file, creates it with the user `stack` and a random secret.
// Processes that do so at the same time get the same secret.
absl::StatusOr<FileCredentials> LoadOrCreateCredentials(const std::string& path);

}  // namespace tickstack::security
