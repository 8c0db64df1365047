#pragma once

#include <cstdint>
#include <string>

namespace tickstack {

enum class OutputFormat { kText, kJson, kCsv };

struct QueryOptions {
  std::string address;  // `host:port`, `:port`, `unix:PATH`
  std::string query;    // A q expression; `-`: what stdin holds.
  OutputFormat format = OutputFormat::kText;
  std::string user;  // The password is the environment's TICKSTACK_PASSWORD.
  double timeout_s = 30;
};

// Asks any process that speaks kdb+ IPC one question and writes the answer to stdout. On a terminal
// a long table is cut at the screen's height. 0; 1 with the reason on stderr: q's error as `'type`,
// or who does not answer.
int RunQuery(const QueryOptions& options);

}  // namespace tickstack
