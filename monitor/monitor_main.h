#pragma once

#include <cstdint>
#include <string>

namespace tickstack::monitor {

struct MonitorOptions {
  std::string name =
      "monitor";  // Names its files: DATA/monitor/NAME.csv, NAME.summary.{csv,json,txt}.
  std::string data = "data";  // The data directory.
  std::string rdb = "127.0.0.1:5011";
  std::string feed;                // Started once the rdb answers; empty: none to start.
  std::string host = "127.0.0.1";  // Where `.monitor.summary[]` is answered.
  int port = 0;                    // 0: the kernel chooses.
  int listen_fd = -1;              // An inherited listening socket, instead of host and port.
  int ready_fd = -1;               // Gets "ready\n" when the monitor answers.
  double query_ms = 300;           // A sample is due every so many ms.
  double seconds = 0;              // Ends by itself after so long; 0: at SIGTERM or SIGINT.
  std::string asof_symbol;         // For the asof join; empty: the symbol of the newest trade.
  double progress_s = 5;           // A line every so often; on a terminal a live line. 0: none.
};

// Samples until told to stop, then writes the summary. Exit code 0; 1 if no sample could be taken
// or a file cannot be written. Blocks; uses the calling thread only.
int RunMonitor(const MonitorOptions& options);

}  // namespace tickstack::monitor
