#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tickstack::loadtest {

// What a load test says while it runs, on stdout: on a terminal a line for each stack that is
// written over, elsewhere the same lines every five seconds. Threads: one owner.
class Progress {
 public:
  Progress();
  ~Progress() { EndLive(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Note(const std::string& text);  // Stays. May have several lines.
  void Show(const std::vector<std::string>& lines);
  // What was shown last stays.
  void EndLive();

 private:
  const bool terminal_;
  size_t live_lines_ = 0;  // Of the terminal, that the next Show writes over.
  int64_t next_ns_ = 0;
};

}  // namespace tickstack::loadtest
