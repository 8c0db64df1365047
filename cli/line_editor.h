#pragma once

// A line typed at a terminal: with editing, history and completion by libedit.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tickstack {

// What may stand where a word has begun.
struct Completion {
  size_t begin = 0;                // Where the word begins.
  std::vector<std::string> words;  // Sorted, all of which begin as the word does.
};

// Threads: one owner. There is one a process, since it sets the terminal's mode.
class LineEditor {
 public:
  // Completes the word that ends at the end of `text`.
  using Complete = std::function<Completion(std::string_view text)>;

  // The lines of the file `history` are remembered, and lines are added to it; empty: none.
  LineEditor(std::string history, Complete complete);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  struct Line {
    std::string text;
    bool cancelled = false;  // By Ctrl-C.
  };
  // Shows the prompt and waits for a line; nullopt at its end (Ctrl-D).
  std::optional<Line> Read(const std::string& prompt);
  // So that the next Read, and the next shell, has it again.
  void Remember(const std::string& entry);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The longest begin that all share.
std::string CommonBegin(const std::vector<std::string>& words);

}  // namespace tickstack
