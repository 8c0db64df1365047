#pragma once

#include <string>

namespace tickstack::bench {

// Measures how much queries delay the rows that arrive while they run. A feed sends 48,000 rows per
// second (one trade to ten quotes, an update of each table every ms) through a tickerplant process
// to an rdb process that starts with 8.8 million rows. The figure is the time from when a row is
// due until it is visible, from the rdb's own `.rdb.latency[]`, under these loads:
//
//   none      no queries
//   monitor   1,000 times per second the three queries of a monitor, on 4 connections
//   scan      one query thread that aggregates a column of the whole table without pause
//
// It also measures how many rows per second the rdb takes from an unpaced feed, without and with
// the scan. Both are measured for columns in DRAM and in files of /dev/shm, in three alternating
// rounds. The printed table has the medians of the rounds. Takes about 20 times `seconds` plus a
// minute, 3 GB in /dev/shm and 2 GB of DRAM.
//
// If there are fewer cores than busy threads (feed, tickerplant, rdb, query, client), the threads
// share the cores. So the table also has two durations in each row: the CPU time of the ingest
// thread, and the time that this thread waited for a core. Queries increase the CPU time by their
// use of caches and memory bandwidth; if there are enough cores, that is their whole cost.
//
// The tickerplant's log is written to `directory`; `query_nice` is the rdb's option of that name.
void RunQueriesWorkload(double seconds, const std::string& directory, int query_nice);

}  // namespace tickstack::bench
