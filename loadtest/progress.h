#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tickstack::loadtest {

// Prints a load test's progress to stdout: on a terminal one line for each stack, which is
// overwritten; elsewhere the same lines every five seconds. Threads: one owner.
class Progress {
 public:
  Progress();
  ~Progress() { EndLive(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Note(const std::string& text);  // Prints lines that stay.
  void Show(const std::vector<std::string>& lines);
  // Leaves the lines of the last Show on the terminal.
  void EndLive();

 private:
  const bool terminal_;
  size_t live_lines_ = 0;  // Lines on the terminal that the next Show overwrites.
  int64_t next_ns_ = 0;
};

}  // namespace tickstack::loadtest
