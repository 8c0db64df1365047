#pragma once

// What `tickstack top` prints: a screen of text, or JSON. Plain functions.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/top_figures.h"

namespace tickstack::cli {

enum class TopColumn {
  kName,
  kRole,
  kState,
  kRowsIn,
  kOut,
  kBehind,
  kLag,
  kP50,
  kP99,
  kMemory,
  kQueue,
  kClients,
};

// How rows are sorted: in the order of the stack, or by a column, texts ascending and numbers
// descending.
struct TopOrder {
  bool by_column = false;
  TopColumn column = TopColumn::kName;

  // Moves to the next column (1) or the previous one (-1). The order of the stack follows the last
  // column and precedes the first.
  void Step(int direction);
};
std::string_view NameOf(TopColumn column);

struct TopView {
  std::string title = {};  // What is watched.
  std::string time = {};
  TopOrder order = {};
  bool paused = false;
  bool has_keys = true;  // True: the last line lists the keys.
  // Size of the terminal in characters. Columns that matter least are left out if a row is too
  // long; a longer line is cut, and so are lines beyond the height.
  size_t width = SIZE_MAX;
  size_t height = SIZE_MAX;
};

// Returns the lines, without line ends. Printable ASCII only.
std::vector<std::string> TopLines(const StackFigures& figures, const TopView& view);

// Returns one JSON object, with a line end. A figure that is not known is null.
std::string TopJson(const StackFigures& figures);

}  // namespace tickstack::cli
