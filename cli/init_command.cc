#include "cli/init_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/owned_fd.h"
#include "base/printable.h"
#include "base/status.h"
#include "cli/check_command.h"
#include "cli/init_config.h"
#include "cli/init_questions.h"
#include "cli/stack_config.h"
#include "cli/user_command.h"

namespace tickstack::cli {
namespace {

constexpr mode_t kPrivate = 0600, kReadable = 0644;

// Words of a command line for a POSIX shell.
std::string ShellWord(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

absl::Status CheckPath(const InitOptions& options) {
  struct stat found{};
  if (::lstat(options.path.c_str(), &found) != 0) return absl::OkStatus();
  if (!S_ISREG(found.st_mode)) {
    return FailedPrecondition("{}: expected no file, or a regular one", options.path);
  }
  if (options.force) return absl::OkStatus();
  return FailedPrecondition("{}: the file exists; choose another name, or --force to replace it",
                            options.path);
}

absl::Status WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, "write");
    text.remove_prefix(static_cast<size_t>(written));
  }
  return ::fsync(fd) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "fsync");
}

// Gives the written file `from` its name.
absl::Status Place(const std::string& from, const InitOptions& options) {
  if (options.force) return RenameReplacing(from, options.path);
  // Unlike rename, this fails if another program has created the file meanwhile.
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, options.path.c_str(), RENAME_NOREPLACE) != 0) {
    return Annotate(ErrnoStatus(errno, "rename"), options.path);
  }
  return SyncDirectory(DirectoryOf(options.path));
}

// Writes the file as a whole, or leaves what was there.
absl::Status Write(const InitOptions& options, std::string_view text, mode_t mode) {
  std::string next = options.path + ".XXXXXX";
  const OwnedFd fd(::mkostemp(next.data(), O_CLOEXEC));
  if (!fd.is_open()) return Annotate(ErrnoStatus(errno, "create"), options.path);
  absl::Status done = WriteAll(fd.get(), text);
  if (done.ok() && ::fchmod(fd.get(), mode) != 0) done = ErrnoStatus(errno, "fchmod");
  done = Annotate(done, next);
  if (done.ok()) done = Place(next, options);
  if (!done.ok()) ::unlink(next.c_str());
  return done;
}

// Creates the users file with a first user, who may do everything, if there is none.
absl::Status EnsureUsers(const std::string& users, bool asks) {
  if (users.empty()) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const bool has_users, FileExists(users));
  if (has_users) return absl::OkStatus();
  if (!asks) {
    return NotFound(
        "{}: there is no users file; first run: tickstack user add NAME --users {} "
        "--publish '*' --subscribe '*' --query '*' --administer",
        users, ShellWord(users));
  }
  fmt::print("   {} is new. Name of its first user, who may do everything [admin]: ", users);
  std::fflush(stdout);
  UserOptions user;
  user.users = users;
  user.publish = user.subscribe = user.query = {"*"};
  user.administer = true;
  if (!std::getline(std::cin, user.name)) {
    return absl::CancelledError("the input ended before the last question");
  }
  if (user.name.empty()) user.name = "admin";
  if (RunUserAdd(user) == EXIT_SUCCESS) return absl::OkStatus();
  return FailedPrecondition("{}: the user was not added", users);
}

// kFailedPrecondition if `tickstack check` would refuse a file with this text.
absl::Status CheckText(const std::string& text, const std::string& path) {
  TS_ASSIGN_OR_RETURN(StackConfig config, ParseStackConfig(text, path));
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> problems, ProblemsOf(config));
  if (problems.empty()) return absl::OkStatus();
  return FailedPrecondition("a stack with these answers would not start here: {}",
                            fmt::join(problems, "; "));
}

absl::StatusOr<InitAnswers> WriteConfig(const InitOptions& options) {
  TS_RETURN_IF_ERROR(CheckPath(options));
  const bool asks = !options.yes && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  if (asks) {
    fmt::print("An empty line takes the answer in brackets; Ctrl-C ends without a file.\n\n");
  }
  Questions questions(asks);
  TS_ASSIGN_OR_RETURN(InitAnswers answers, AskForAnswers(options, questions));
  TS_ASSIGN_OR_RETURN(const std::string text, InitConfigText(answers, options.path));
  TS_RETURN_IF_ERROR(EnsureUsers(answers.users, asks));
  TS_RETURN_IF_ERROR(CheckText(text, options.path));
  TS_RETURN_IF_ERROR(Write(options, text, answers.names_secrets() ? kPrivate : kReadable));
  return answers;
}

void PrintCommands(const InitOptions& options, const InitAnswers& answers) {
  const std::string path = ShellWord(options.path);
  std::string flags;
  if (!answers.users.empty()) flags += " --user NAME";
  if (!answers.ca.empty()) flags += " --ca " + ShellWord(answers.ca);
  const std::string host = answers.certificate.empty() ? "" : "tcps://localhost";
  fmt::print(
      "\n{0} is written. Next:\n"
      "  tickstack up {1}     # runs the stack; the others in another terminal\n"
      "  tickstack top {1}    # rates, lags and memory, each second\n"
      "  tickstack query{2} {3}:{4} 'select count i by sym from trade'\n",
      Printable(options.path), path, flags, host, answers.port + 1);
}

}  // namespace

int RunInit(const InitOptions& options) {
  const absl::StatusOr<InitAnswers> answers = WriteConfig(options);
  if (!answers.ok()) {
    std::fprintf(stderr, "%s\n%s was not written\n", std::string(Message(answers.status())).c_str(),
                 Printable(options.path).c_str());
    return EXIT_FAILURE;
  }
  const int checked = RunCheck({.config = options.path, .data = {}, .json = false});
  PrintCommands(options, *answers);
  return checked;
}

}  // namespace tickstack::cli
