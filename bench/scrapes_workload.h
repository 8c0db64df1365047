#pragma once

#include <string>

namespace tickstack::bench {

// Measures what scrapes of /metrics cost. A feed sends 48,000 single quotes per second through a
// tickerplant, which publishes them at once, to an rdb and an aggregation engine; an hdb runs
// beside them. The figure is the time from when a row is due until it can be queried, from the
// rdb's own `.rdb.latency[]`, while nobody scrapes, while a client asks every process for /metrics
// once per second, and 50 times per second. Of each scrape, it also measures the time from
// connecting to the last byte.
//
// The three loads are measured in turns in `rounds` rounds on one stack. Takes about
// rounds * 3 * (seconds + 0.3) seconds. The log is written to `directory`.
void RunScrapesWorkload(double seconds, int rounds, const std::string& directory);

}  // namespace tickstack::bench
