#include "cli/password_input.h"

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string_view>

#include "base/status.h"
#include "security/password.h"
#include "security/password_strength.h"

namespace tickstack::cli {
namespace {

// Switches off the terminal's echo while it exists. At both ends it drops lines that were typed and
// not read: a line that was shown is not used as a password, and a password is not left to the next
// program.
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

absl::StatusOr<std::string> Ask(std::string_view what) {
  std::fprintf(stderr, "%.*s: ", static_cast<int>(what.size()), what.data());
  absl::StatusOr<std::string> line = ReadLine();
  std::fprintf(stderr, "\n");
  return line;
}

absl::Status CheckNew(std::string_view password, std::string_view user) {
  TS_RETURN_IF_ERROR(security::CheckPassword(password));
  return security::CheckStrength(password, user);
}

absl::StatusOr<std::string> AskTwiceOnTerminal(std::string_view user) {
  // From before the first prompt to the second answer, so that nothing typed in between is shown or
  // dropped.
  const WithoutEcho silent;
  constexpr int kTries = 3;
  TS_ASSIGN_OR_RETURN(std::string password, Ask("Password"));
  for (int i = 1; i < kTries; ++i) {
    const absl::Status strong = CheckNew(password, user);
    if (strong.ok()) break;
    security::Wipe(password);
    std::fprintf(stderr, "%s\n", std::string(Message(strong)).c_str());
    TS_ASSIGN_OR_RETURN(password, Ask("Password"));
  }
  absl::StatusOr<std::string> again = Ask("Once more");
  const bool same = again.ok() && password == *again;
  if (again.ok()) security::Wipe(*again);
  if (same) return password;
  security::Wipe(password);
  TS_RETURN_IF_ERROR(again.status());
  return InvalidArgument("the two passwords differ");
}

}  // namespace

absl::StatusOr<std::string> ReadNewPassword(std::string_view user) {
  TS_ASSIGN_OR_RETURN(std::string password,
                      isatty(STDIN_FILENO) == 0 ? ReadLine() : AskTwiceOnTerminal(user));
  const absl::Status strong = CheckNew(password, user);
  if (strong.ok()) return password;
  security::Wipe(password);
  return strong;
}

}  // namespace tickstack::cli
