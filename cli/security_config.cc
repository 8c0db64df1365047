#include "cli/security_config.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "cli/process_table.h"
#include "security/credentials_file.h"
#include "security/login_check.h"
#include "security/users_file.h"
#include "wire/link_credentials.h"

namespace tickstack::cli {
namespace {

// Returns the credentials of the stack; nullopt if it has none.
absl::StatusOr<std::optional<security::FileCredentials>> CredentialsOf(const StackConfig& config,
                                                                       bool may_create) {
  const std::string path = CredentialsPath(config);
  if (path.empty()) return std::nullopt;
  // A file that the configuration names may come from another machine: it is not made up here.
  const bool creates = may_create && config.security.credentials.empty();
  if (creates) TS_RETURN_IF_ERROR(CreateDirectories(DirectoryOf(path)));
  TS_ASSIGN_OR_RETURN(
      security::FileCredentials loaded,
      creates ? security::LoadOrCreateCredentials(path) : security::LoadCredentials(path));
  return std::optional(std::move(loaded));
}

void SetLinks(const security::FileCredentials& credentials) {
  const auto secret = std::make_shared<const security::Secret>(credentials.password.text());
  wire::SetLinkCredentials([user = credentials.user, secret] {
    return wire::Credentials{user, std::string(secret->text()), 0};
  });
}

}  // namespace

absl::Status ReadSecurity(const ConfigTable& section, SecurityConfig& security) {
  for (const auto& [key, target] :
       {std::pair<std::string_view, std::string*>("users", &security.users),
        {"credentials", &security.credentials}}) {
    TS_RETURN_IF_ERROR(section.Read(key, target));
    if (section.Has(key) && target->empty()) {
      return section.ErrorAt(key, "expected the path of a file, found an empty one");
    }
  }
  return section.Read("insecure", &security.insecure);
}

void AddSecurityFlags(CLI::App& command, SecurityConfig& security) {
  command.add_option("--users", security.users,
                     "File of the users who may log in, with their rights");
  command.add_option("--credentials", security.credentials,
                     "File with the line user:password, with which this process logs in to others");
  command.add_flag("--insecure", security.insecure,
                   "Allow listening beyond loopback without a users file");
}

std::string CredentialsPath(const StackConfig& config) {
  if (!config.security.credentials.empty()) return config.security.credentials;
  return config.security.users.empty() ? "" : config.data + "/stack.credentials";
}

absl::Status BeginLinks(const StackConfig& config, bool may_create) {
  TS_ASSIGN_OR_RETURN(const std::optional<security::FileCredentials> credentials,
                      CredentialsOf(config, may_create));
  if (credentials.has_value()) SetLinks(*credentials);
  return absl::OkStatus();
}

absl::Status BeginSecurity(const StackConfig& config, wire::ListenerOptions& listener) {
  listener.insecure = config.security.insecure;
  TS_ASSIGN_OR_RETURN(const std::optional<security::FileCredentials> credentials,
                      CredentialsOf(config, true));
  if (credentials.has_value()) SetLinks(*credentials);
  if (config.security.users.empty()) return absl::OkStatus();
  security::LoginCheckOptions options;
  options.users = config.security.users;
  if (credentials.has_value() && credentials->user == security::kStackUser) {
    options.stack_secret.emplace(credentials->password.text());
  }
  TS_ASSIGN_OR_RETURN(listener.authenticator, security::LoginCheck::Open(std::move(options)));
  return absl::OkStatus();
}

absl::Status CheckSecurity(StackConfig& config) {
  if (!config.security.users.empty()) {
    TS_RETURN_IF_ERROR(security::LoadUsers(config.security.users).status());
    return CredentialsOf(config, true).status();
  }
  if (config.security.insecure) return absl::OkStatus();
  for (const ListedProcess& listed : ProcessesOf(config)) {
    const absl::Status reach = wire::CheckReach(listed.process->listener());
    if (!reach.ok()) return Annotate(reach, listed.process->name());
  }
  return absl::OkStatus();
}

}  // namespace tickstack::cli
