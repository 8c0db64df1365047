#pragma once

#include <string>

namespace tickstack::bench {

// Measures what users and TLS cost. A feed sends quotes through a tickerplant process to an rdb
// process, once as fast as they are taken, in batches of 2,400, and once as single rows, 48,000 per
// second, which the tickerplant publishes at once. The figures are rows per second, and the time
// from when a row is due until it can be queried, from the rdb's own `.rdb.latency[]`:
//
//   plain      no users, no TLS
//   users      the feed, the rdb and the querying client log in
//   users_tls  and all of their connections use TLS
//
// The three are measured in turns in `rounds` rounds, and compared within a round. Takes about
// rounds * 6 * (seconds + 2) seconds, and memory as the workload `path` does. The log is written to
// `directory`.
void RunProtectionWorkload(double seconds, int rounds, const std::string& directory);

}  // namespace tickstack::bench
