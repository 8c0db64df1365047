#pragma once

// The process of a monitor: its options, and the function that the command line calls.

#include <cstdint>
#include <string>
#include <vector>

#include "serve/health.h"
#include "wire/listener_options.h"

namespace tickstack::monitor {

struct MonitorOptions {
  // Its files have this name: DATA/monitor/NAME.csv, DATA/monitor/NAME.summary.{csv,json,txt}.
  std::string name = "monitor";
  std::string data = "data";  // The data directory.
  std::string rdb = "127.0.0.1:5011";
  std::string feed;                // Address of a feed to start when the rdb answers; empty: none.
  wire::ListenerOptions listener;  // Listens for queries such as `.monitor.stats[]`.
  serve::HealthLimits health;
  std::vector<std::string> bars;  // Tables of bars that it samples besides trade and quote.
  // The processes of the stack that its page shows, each as ROLE:NAME=ADDRESS. Empty: the rdb and
  // the feed.
  std::vector<std::string> watch;
  double query_ms = 300;  // Interval between samples.
  double spread_ms = 0;   // Random delay of a sample (MonitorSettings).
  double seconds = 0;     // Duration of the run; 0: until SIGTERM or SIGINT.
  // Symbol of the as-of join; empty: the symbol of the newest trade.
  std::string asof_symbol;
  std::string queries = "monitor";  // The query set of clients (query_set.h).
  // File of the symbols that clients ask for; empty: those of the rdb.
  std::string symbols;
  bool queries_wait = false;  // Clients ask nothing before `.monitor.begin[]`.
  double progress_s = 5;      // Interval of progress lines; live on a terminal. 0: none.
};

// Samples until told to stop, then writes the summary. Exit code 0; 1 if no sample could be taken
// within `seconds` or a file cannot be written. Blocks; uses the calling thread only.
int RunMonitor(const MonitorOptions& options);

}  // namespace tickstack::monitor
