#include "loadtest/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/time.h"

namespace tickstack::loadtest {
namespace {

constexpr int64_t kPlainLines = 5 * kNsPerSecond;

}  // namespace

Progress::Progress() : terminal_(isatty(STDOUT_FILENO) != 0) {}

void Progress::Note(const std::string& text) {
  EndLive();
  fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
  std::fflush(stdout);
}

void Progress::Show(const std::vector<std::string>& lines) {
  const int64_t now_ns = MonotonicNs();
  if (!terminal_) {
    if (now_ns < next_ns_) return;
    next_ns_ = now_ns + kPlainLines;
  }
  if (live_lines_ > 0) fmt::print("\033[{}A", live_lines_);
  for (const std::string& line : lines) {
    if (terminal_ || !line.empty()) fmt::print("{}{}\n", line, terminal_ ? "\033[K" : "");
  }
  if (terminal_) live_lines_ = lines.size();
  std::fflush(stdout);
}

void Progress::EndLive() { live_lines_ = 0; }

}  // namespace tickstack::loadtest
