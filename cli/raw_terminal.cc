#include "cli/raw_terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

namespace tickstack::cli {
namespace {

constexpr size_t kWidth = 80, kHeight = 24;  // If the terminal does not know its size.

void WriteScreen(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

RawTerminal::RawTerminal() {
  if (tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    is_set_ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) == 0;
  }
  WriteScreen("\033[?1049h\033[?25l");  // The alternate screen; no cursor.
}

RawTerminal::~RawTerminal() {
  WriteScreen("\033[?25h\033[?1049l");
  if (is_set_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

void RawTerminal::Fill() {
  pollfd ready{STDIN_FILENO, POLLIN, 0};
  if (poll(&ready, 1, 0) <= 0) return;
  char bytes[256];
  const ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
  if (got > 0) {
    unread_.append(bytes, static_cast<size_t>(got));
  } else if (got == 0 || errno != EINTR) {
    is_closed_ = true;
  }
}

RawTerminal::Pressed RawTerminal::Read() {
  Fill();
  if (unread_.empty()) return {};
  // Arrows are `ESC [ A`, or `ESC O A` in the mode of applications.
  if (unread_.size() >= 3 && unread_[0] == '\033' && (unread_[1] == '[' || unread_[1] == 'O')) {
    const size_t arrow = std::string_view("ABCD").find(unread_[2]);
    unread_.erase(0, 3);
    constexpr Key kArrows[] = {Key::kUp, Key::kDown, Key::kRight, Key::kLeft};
    return arrow < std::size(kArrows) ? Pressed{kArrows[arrow], 0} : Pressed{};
  }
  const char first = unread_[0];
  unread_.erase(0, 1);
  return {Key::kCharacter, first};
}

RawTerminal::Size RawTerminal::SizeNow() {
  winsize found{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) {
    return {kWidth, kHeight};
  }
  return {found.ws_col, found.ws_row};
}

void RawTerminal::Draw(const std::vector<std::string>& lines) {
  std::string screen = "\033[H";  // The first place; `ESC [ K` clears the rest of a line.
  for (size_t i = 0; i < lines.size(); ++i) {
    screen += lines[i] + "\033[K";
    // No line end after the last one, which would scroll a full screen.
    if (i + 1 < lines.size()) screen += '\n';
  }
  WriteScreen(screen + "\033[J");
}

}  // namespace tickstack::cli
