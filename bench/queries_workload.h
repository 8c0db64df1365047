#pragma once

#include <string>

namespace tickstack::bench {

// Measures what queries cost the rows that arrive meanwhile. A feed sends 48,000 rows per second
// (one trade to ten quotes, an update of each table every ms) through a tickerplant process to an
// rdb process that starts with 8.8 million rows. The figure is the time from when a row is due
// until it is visible, from the rdb's own `.rdb.latency[]`, under these loads:
//
//   none      no queries
//   monitor   1,000 rounds per second of a monitor's three questions, on 4 connections
//   scan      one query thread that aggregates a column of the whole table without pause
//
// It also measures, without pacing, how many rows per second the rdb takes without and with the
// scan. Both are measured for columns in DRAM and in files of /dev/shm, in three alternating
// rounds, and the table has their medians. Takes some 20 times `seconds` plus a minute, 3 GB in
// /dev/shm and 2 GB of DRAM.
//
// If there are fewer cores than busy threads (feed, tickerplant, rdb, query, client), they share
// the cores. So the table also has, per row, the core time that the ingest thread used and the time
// that it waited for a core. The first is what queries cost in caches and memory, and their whole
// cost if there are enough cores.
//
// `directory` receives the tickerplant's log; `query_nice` is the rdb's option.
void RunQueriesWorkload(double seconds, const std::string& directory, int query_nice);

}  // namespace tickstack::bench
