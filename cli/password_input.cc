#include "cli/password_input.h"

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string_view>

#include "base/status.h"
#include "security/password.h"

namespace tickstack::cli {
namespace {

// Switches off the terminal's echo while it exists.
class WithoutEcho {
 public:
  WithoutEcho() {
    if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    is_set_ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) == 0;
  }
  ~WithoutEcho() {
    if (is_set_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  WithoutEcho(const WithoutEcho&) = delete;
  WithoutEcho& operator=(const WithoutEcho&) = delete;

 private:
  termios before_{};
  bool is_set_ = false;
};

absl::StatusOr<std::string> ReadLine() {
  std::string line;
  if (!std::getline(std::cin, line)) {
    return InvalidArgument("expected a password on stdin, found its end");
  }
  return line;
}

absl::StatusOr<std::string> AskOnTerminal(std::string_view what) {
  std::fprintf(stderr, "%.*s: ", static_cast<int>(what.size()), what.data());
  const WithoutEcho silent;
  absl::StatusOr<std::string> line = ReadLine();
  std::fprintf(stderr, "\n");
  return line;
}

}  // namespace

absl::StatusOr<std::string> ReadNewPassword() {
  std::string password;
  if (isatty(STDIN_FILENO) == 0) {
    TS_ASSIGN_OR_RETURN(password, ReadLine());
  } else {
    TS_ASSIGN_OR_RETURN(password, AskOnTerminal("Password"));
    TS_ASSIGN_OR_RETURN(std::string again, AskOnTerminal("Once more"));
    const bool same = password == again;
    security::Wipe(again);
    if (!same) return InvalidArgument("the two passwords differ");
  }
  TS_RETURN_IF_ERROR(security::CheckPassword(password));
  return password;
}

}  // namespace tickstack::cli
