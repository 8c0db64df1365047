#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/listener_options.h"

namespace tickstack::monitor {

struct MonitorOptions {
  std::string name =
      "monitor";  // Names its files: DATA/monitor/NAME.csv, NAME.summary.{csv,json,txt}.
  std::string data = "data";  // The data directory.
  std::string rdb = "127.0.0.1:5011";
  std::string feed;                 // Started once the rdb answers; empty: none to start.
  wire::ListenerOptions listener;   // Where `.monitor.stats[]` is answered.
  std::vector<std::string> bars;    // Tables of bars that are watched besides trade and quote.
  double query_ms = 300;            // A sample is due every so many ms,
  double spread_ms = 0;             // late by up to this: see MonitorSettings.
  double seconds = 0;               // Ends by itself after so long; 0: at SIGTERM or SIGINT.
  std::string asof_symbol;          // For the asof join; empty: the symbol of the newest trade.
  std::string queries = "monitor";  // What clients ask besides: a query set, query_set.h.
  std::string symbols;              // Which symbols those ask for: a file; empty: those of the rdb.
  bool queries_wait = false;        // Clients ask nothing before `.monitor.begin[]`.
  double progress_s = 5;            // A line every so often; on a terminal a live line. 0: none.
};

// Samples until told to stop, then writes the summary. Exit code 0; 1 if no sample could be taken
// within `seconds` or a file cannot be written. Blocks; uses the calling thread only.
int RunMonitor(const MonitorOptions& options);

}  // namespace tickstack::monitor
