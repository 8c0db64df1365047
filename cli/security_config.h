#pragma once

// The keys of `[security]`, the flags of the same names, and what a process does with them before
// it listens. docs/operating/security.md explains them.

#include <string>

#include "absl/status/status.h"
#include "base/config.h"
#include "wire/listener_options.h"

namespace CLI {
class App;
}

namespace tickstack::cli {

struct StackConfig;

struct SecurityConfig {
  std::string users;  // Path of the users file; empty: everybody has every right.
  // Path of the file with which the stack's processes log in at each other; empty: the file in the
  // data directory, if there is a users file.
  std::string credentials;
  bool insecure = false;  // True: listens beyond loopback without a users file.
};

absl::Status ReadSecurity(const ConfigTable& section, SecurityConfig& security);
// `security` must outlive `command`.
void AddSecurityFlags(CLI::App& command, SecurityConfig& security);

// Returns the path of the credentials; empty if the processes need none.
std::string CredentialsPath(const StackConfig& config);

// Makes the links of this process log in with the credentials, and creates their file if there is a
// users file and `may_create`. Errors: those of LoadCredentials. Call it before other threads
// start.
absl::Status BeginLinks(const StackConfig& config, bool may_create);

// Prepares a process that listens: BeginLinks, and the check of logins if there is a users file.
// Errors: those of BeginLinks and LoginCheck::Open. Call it before other threads start.
absl::Status BeginSecurity(const StackConfig& config, wire::ListenerOptions& listener);

// Checks for `up` that its processes can start: kFailedPrecondition if one of them would listen
// beyond loopback and everyone might log in, and the errors of BeginSecurity about files.
absl::Status CheckSecurity(StackConfig& config);

}  // namespace tickstack::cli
