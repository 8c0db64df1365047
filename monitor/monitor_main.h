#pragma once

// The process of a monitor: its options, and the function that the command line calls.

#include <cstdint>
#include <string>
#include <vector>

#include "serve/health.h"
#include "wire/listener_options.h"

namespace tickstack::monitor {

struct MonitorOptions {
  // Name of its files: DATA/monitor/NAME.csv, NAME.summary.{csv,json,txt}.
  std::string name = "monitor";
  std::string data = "data";  // The data directory.
  std::string rdb = "127.0.0.1:5011";
  std::string feed;                // Started once the rdb answers; empty: none to start.
  wire::ListenerOptions listener;  // For queries such as `.monitor.stats[]`.
  serve::HealthLimits health;
  std::vector<std::string> bars;  // Tables of bars that are watched besides trade and quote.
  // The other processes of the stack, for its page, each as ROLE:NAME=ADDRESS. Empty: the rdb and
  // the feed.
  std::vector<std::string> watch;
  double query_ms = 300;            // Interval between samples.
  double spread_ms = 0;             // Random delay of a sample (MonitorSettings).
  double seconds = 0;               // Duration of the run; 0: until SIGTERM or SIGINT.
  std::string asof_symbol;          // For the asof join; empty: the symbol of the newest trade.
  std::string queries = "monitor";  // The query set of clients (query_set.h).
  std::string symbols;              // File of symbols for them; empty: those of the rdb.
  bool queries_wait = false;        // Clients ask nothing before `.monitor.begin[]`.
  double progress_s = 5;            // Interval of progress lines; live on a terminal. 0: none.
};

// Samples until told to stop, then writes the summary. Exit code 0; 1 if no sample could be taken
// within `seconds` or a file cannot be written. Blocks; uses the calling thread only.
int RunMonitor(const MonitorOptions& options);

}  // namespace tickstack::monitor
