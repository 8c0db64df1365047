#pragma once

// Reads a line typed at a terminal, with editing, history and completion by libedit.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tickstack::cli {

// The possible completions of a word that has been started.
struct Completion {
  size_t begin = 0;                // Where the word begins.
  std::vector<std::string> words;  // Sorted; all of them start like the word.
};

// Threads: one owner. Only one per process, because it sets the terminal's mode.
class LineEditor {
 public:
  // Completes the word that ends at the end of `text`.
  using Complete = std::function<Completion(std::string_view text)>;

  // Loads the lines of the file `history`, and adds new ones to it; empty: no history.
  LineEditor(std::string history, Complete complete);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  struct Line {
    std::string text;
    bool cancelled = false;  // True if Ctrl-C was typed.
  };
  // Shows the prompt and waits for a line; nullopt at the end of input (Ctrl-D).
  std::optional<Line> Read(const std::string& prompt);
  // Adds an entry to the history, for the next Read and the next shell.
  void AddToHistory(const std::string& entry);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns the longest common prefix.
std::string CommonBegin(const std::vector<std::string>& words);

}  // namespace tickstack::cli
