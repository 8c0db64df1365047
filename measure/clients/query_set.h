#pragma once

// A query set: classes of clients, which query the rdb in addition to the monitor, and the texts of
// their queries. It is read from a TOML file such as:
//
//   seed = 1
//
//   [[client]]
//   name = "dashboards"
//   count = 8                      # connections
//   mode = "open"                  # by a schedule that ignores the answers
//   rate_per_s = 50                # or every_ms = 20; neither: the monitor's interval
//   arrivals = "poisson"           # or "even"
//   queries = ["last_price"]
//   weights = [1]                  # relative frequency of each query; absent: in turn
//
//   [[client]]
//   name = "analysts"
//   mode = "closed"                # each connection asks again after its answer and its think time
//   think_ms = 100
//   queries = ["top_trades"]
//
//   [[query]]
//   name = "last_price"
//   text = "exec last price from trade where sym=`{symbol},time within ({begin};{end})"
//   symbols = "activity"           # drawn by number of trades; "turn": one after another
//   window_s = 60                  # {end} is the time of the question, {begin} this many s before
//   check = "not_empty"            # an empty result counts as an error
//   allow_errors = true            # errors are counted, but do not fail the run
//
// Other texts in braces are not changed, because q's functions are in braces.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::measure {

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
  int count = 1;        // Number of connections.
  double think_ms = 0;  // Closed loop: pause from an answer to the connection's next question.
  // Open loop: mean interval between questions of the class; 0: the monitor's interval.
  double every_ms = 0;
  bool poisson = true;          // Open loop: random intervals; false: equal ones.
  std::vector<size_t> queries;  // Indices into QuerySet::queries.
  std::vector<int> weights;     // One for each of `queries`; empty: in turn.
};

struct QuerySet {
  std::string name;
  std::string text;  // The text of the file.
  uint64_t seed = 1;
  std::vector<ClientSpec> clients;  // Empty: only the monitor asks.
  std::vector<QuerySpec> queries;

  bool asks_for_symbols() const;
};

inline constexpr int kConnectionsMax = 4'096;  // Maximum of the sum of ClientSpec::count in a set.

// Loads a built-in set by its name, or a TOML file:
//
//   monitor   no clients
//   paper     the newest times of trades, quotes and bars, VWAP and as-of join, symbol by symbol
//   heavy     analysts who read whole columns, sort and join, besides dashboards with short queries
//
// kNotFound if it is neither a built-in name nor a file; the message lists the names.
// kInvalidArgument with file, line and key.
absl::StatusOr<QuerySet> LoadQuerySet(const std::string& name_or_file);
absl::StatusOr<QuerySet> ParseQuerySet(std::string_view text, std::string_view file_name);

}  // namespace tickstack::measure
