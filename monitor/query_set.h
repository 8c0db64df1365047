#pragma once

// What clients ask, besides what the monitor itself asks: classes of clients, and the texts of
// their questions. A file of it:
//
//   seed = 1
//
//   [[client]]
//   name = "dashboards"
//   count = 8                      # connections
//   mode = "open"                  # asks when it is due, whatever became of the questions before
//   rate_per_s = 50                # or every_ms = 20; neither: as often as the monitor looks
//   arrivals = "poisson"           # or "even"
//   queries = ["last_price"]
//   weights = [1]                  # how often each is asked; absent: one after the other
//
//   [[client]]
//   name = "analysts"
//   mode = "closed"                # each connection asks when it has its answer, and has thought
//   think_ms = 100
//   queries = ["top_trades"]
//
//   [[query]]
//   name = "last_price"
//   text = "exec last price from trade where sym=`{symbol},time within ({begin};{end})"
//   symbols = "activity"           # drawn as often as they trade; "turn": one after the other
//   window_s = 60                  # {end} is the time of asking, {begin} this many s before
//   check = "not_empty"            # an empty result counts as an error
//   allow_errors = true            # errors are counted, but the run is not failed for them
//
// Braces with anything else in them are left as they are: q has functions in braces.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::monitor {

struct QuerySpec {
  std::string name;
  std::string text;
  bool symbols_in_turn = false;
  double window_s = 60;
  bool not_empty = false;
  bool allow_errors = false;

  bool asks_for_symbol() const { return text.find("{symbol}") != std::string::npos; }
};

struct ClientSpec {
  enum class Mode { kClosed, kOpen };
  std::string name;
  Mode mode = Mode::kClosed;
  int count = 1;        // Connections.
  double think_ms = 0;  // Closed: from an answer to the next question of that connection.
  double every_ms =
      0;  // Open: the mean between two questions of the class; 0: the monitor's timer.
  bool poisson = true;          // Open: else all are as far apart.
  std::vector<size_t> queries;  // Indices into QuerySet::queries.
  std::vector<int> weights;     // One for each of those; empty: in turn.
};

struct QuerySet {
  std::string name;
  std::string text;  // The text that was read.
  uint64_t seed = 1;
  std::vector<ClientSpec> clients;  // Empty: only the monitor asks.
  std::vector<QuerySpec> queries;

  bool asks_for_symbols() const;
};

inline constexpr int kConnectionsMax = 4'096;  // Sum over the clients of a set.

// A built-in one by its name, or the one of a TOML file:
//
//   monitor   no clients
//   paper     the newest times of trades, quotes and bars, VWAP and as-of join, symbol by symbol
//   heavy     analysts who read whole columns, sort and join, beside dashboards with short
//   questions
//
// kNotFound: neither a name nor a file, with the names that there are. kInvalidArgument with file,
// line and key.
absl::StatusOr<QuerySet> LoadQuerySet(const std::string& name_or_file);
absl::StatusOr<QuerySet> ParseQuerySet(std::string_view text, std::string_view file_name);

}  // namespace tickstack::monitor
