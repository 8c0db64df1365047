#include "cli/user_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/owned_fd.h"
#include "base/status.h"
#include "cli/password_input.h"
#include "cli/stack_config.h"
#include "security/password.h"
#include "security/private_file.h"
#include "security/users_edit.h"
#include "security/users_file.h"

namespace tickstack::cli {
namespace {

absl::StatusOr<std::string> PathOf(const UserOptions& options) {
  if (!options.users.empty()) return options.users;
  if (options.config.empty())
    return InvalidArgument("expected --users FILE or --config stack.toml");
  TS_ASSIGN_OR_RETURN(const StackConfig config, LoadStackConfig(options.config));
  if (!config.security.users.empty()) return config.security.users;
  return InvalidArgument("{}: expected users = \"FILE\" in [security]", options.config);
}

// Keeps other `tickstack user` commands from changing files of the same folder meanwhile.
absl::StatusOr<OwnedFd> LockFolderOf(const std::string& path) {
  const std::string folder = DirectoryOf(path);
  OwnedFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open() || flock(fd.get(), LOCK_EX) != 0) {
    return Annotate(ErrnoStatus(errno, "lock"), folder);
  }
  return fd;
}

// Applies `edit`, from the old text to the new one, to the users file.
template <typename Edit>
absl::Status EditUsers(const UserOptions& options, bool may_create, Edit edit) {
  TS_ASSIGN_OR_RETURN(const std::string path, PathOf(options));
  TS_ASSIGN_OR_RETURN(const OwnedFd lock, LockFolderOf(path));
  std::string text;
  absl::StatusOr<std::string> old = security::ReadPrivateFile(path, security::kOwnerAndGroupReads);
  if (old.ok()) {
    text = *std::move(old);
  } else if (!may_create || !absl::IsNotFound(old.status())) {
    return old.status();
  }
  absl::StatusOr<std::string> edited = edit(text);
  if (!edited.ok()) return Annotate(edited.status(), path);
  return security::WritePrivateFile(path, *edited);
}

std::string ArrayOf(std::string_view key, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string items;
  for (const std::string& name : names) {
    items += fmt::format("{}{}", items.empty() ? "" : ", ", nlohmann::json(name).dump());
  }
  return fmt::format("{} = [{}]\n", key, items);
}

std::string RightsLines(const UserOptions& options) {
  std::string lines = ArrayOf("groups", options.groups) + ArrayOf("publish", options.publish) +
                      ArrayOf("subscribe", options.subscribe) +
                      ArrayOf("symbols", options.symbols) + ArrayOf("query", options.query);
  if (options.metrics) lines += "metrics = true\n";
  if (options.administer) lines += "administer = true\n";
  return lines;
}

// A password that was read or drawn, and its hash.
class NewPassword {
 public:
  ~NewPassword() { security::Wipe(password_); }

  absl::Status Get(const UserOptions& options) {
    if (options.token) {
      password_ = security::RandomSecret();
    } else {
      TS_ASSIGN_OR_RETURN(password_, ReadNewPassword(options.name));
    }
    TS_ASSIGN_OR_RETURN(hash_, security::HashPassword(password_));
    return absl::OkStatus();
  }
  const std::string& hash() const { return hash_; }
  // Prints the bearer token if the password was drawn: nobody else knows it.
  void PrintToken(const UserOptions& options) const {
    if (options.token) fmt::print("{}.{}\n", options.name, password_);
  }

 private:
  std::string password_, hash_;
};

int ExitCode(const absl::Status& status) {
  if (status.ok()) return EXIT_SUCCESS;
  std::fprintf(stderr, "%s\n", std::string(Message(status)).c_str());
  return EXIT_FAILURE;
}

std::string NamesText(const security::NameSet& set) {
  return set.all ? "*" : fmt::format("{}", fmt::join(set.names, ","));
}

std::string SubscriptionsText(const security::Grants& grants) {
  std::string text;
  for (const auto& [table, symbols] : grants.subscribe) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", table,
                        symbols.all ? "" : fmt::format("({} symbols)", symbols.names.size()));
  }
  return text;
}

nlohmann::json JsonOf(const std::string& name, const security::Grants& grants) {
  nlohmann::json subscribe = nlohmann::json::object();
  for (const auto& [table, symbols] : grants.subscribe) {
    subscribe[table] = symbols.all ? nlohmann::json("*") : nlohmann::json(symbols.names);
  }
  const auto set = [](const security::NameSet& names) {
    return names.all ? nlohmann::json("*") : nlohmann::json(names.names);
  };
  return {{"user", name},
          {"publish", set(grants.publish)},
          {"subscribe", subscribe},
          {"query", set(grants.query)},
          {"metrics", grants.metrics},
          {"administer", grants.administer},
          {"query_timeout_ns", grants.query_timeout_ns},
          {"query_max_bytes", grants.query_max_bytes},
          {"requests_per_second", grants.requests_per_second},
          {"connections", grants.connections}};
}

absl::Status PrintUsers(const UserOptions& options) {
  TS_ASSIGN_OR_RETURN(const std::string path, PathOf(options));
  TS_ASSIGN_OR_RETURN(const security::Users users, security::LoadUsers(path));
  for (const auto& [name, user] : users) {
    if (options.json) {
      fmt::print("{}\n", JsonOf(name, user.grants).dump());
      continue;
    }
    fmt::print("{} publish={} subscribe={} query={}{}{}\n", name, NamesText(user.grants.publish),
               SubscriptionsText(user.grants), NamesText(user.grants.query),
               user.grants.metrics ? " metrics" : "", user.grants.administer ? " administer" : "");
  }
  return absl::OkStatus();
}

}  // namespace

int RunUserAdd(const UserOptions& options) {
  return ExitCode([&]() -> absl::Status {
    TS_RETURN_IF_ERROR(security::CheckUserName(options.name));
    // Errors before the password is asked for.
    TS_RETURN_IF_ERROR(PathOf(options).status());
    NewPassword password;
    TS_RETURN_IF_ERROR(password.Get(options));
    TS_RETURN_IF_ERROR(EditUsers(options, true, [&](std::string_view text) {
      return security::AddUser(text, options.name, password.hash(), RightsLines(options));
    }));
    password.PrintToken(options);
    return absl::OkStatus();
  }());
}

int RunUserRemove(const UserOptions& options) {
  return ExitCode(EditUsers(options, false, [&](std::string_view text) {
    return security::RemoveUser(text, options.name);
  }));
}

int RunUserPasswd(const UserOptions& options) {
  return ExitCode([&]() -> absl::Status {
    TS_ASSIGN_OR_RETURN(const std::string path, PathOf(options));
    TS_ASSIGN_OR_RETURN(const security::Users users, security::LoadUsers(path));
    if (!users.contains(options.name))
      return NotFound("{}: there is no user {}", path, options.name);
    NewPassword password;
    TS_RETURN_IF_ERROR(password.Get(options));
    TS_RETURN_IF_ERROR(EditUsers(options, false, [&](std::string_view text) {
      return security::ReplaceHash(text, options.name, password.hash());
    }));
    password.PrintToken(options);
    return absl::OkStatus();
  }());
}

int RunUserList(const UserOptions& options) { return ExitCode(PrintUsers(options)); }

}  // namespace tickstack::cli
