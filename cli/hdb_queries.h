#pragma once

// `tickstack hdb queries DB`: asks an hdb queries about years of trades and quotes
// (measure/query_suite/history_queries.h) as 1, 10 and 100 clients, with an empty page cache and
// again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tickstack::cli {

struct HdbQueriesOptions {
  std::string directory;
  std::vector<size_t> clients = {1, 10, 100};  // Numbers of clients; a run for each.
  double seconds = 2;                          // Duration of a warm round.
  std::vector<std::string> only;               // Names of queries; empty: all.
  uint64_t seed = 1;
  std::string drop = "auto";
  int query_threads = 0;  // The hdb's; 0: its default.
  std::string results;    // Directory for the tables as files and a page; "": none.
  std::string answers;    // File for the answers as JSON lines; "": none.
  bool list = false;      // Print the definitions of the queries instead.
  // How to generate a database, if it has no days yet.
  int64_t years = 0;  // 0: do not.
  int64_t symbols = 1'000;
  int64_t quotes = 20'000;  // Per day.
};

// Adds the subcommand's options to `command`. `options` must outlive the command.
void AddHdbQueriesOptions(CLI::App& command, HdbQueriesOptions& options);

// Prints a line for each round to stdout, and progress, warnings and errors to stderr. Returns the
// exit code: 0 done; 1 failed, or ended by a signal; 2 wrong usage. Threads: the main one of a
// process that has no others.
int RunHdbQueries(const HdbQueriesOptions& options);

}  // namespace tickstack::cli
