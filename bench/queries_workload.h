#pragma once

#include <string>

namespace tickstack::bench {

// What queries cost the rows that come in meanwhile. A feed sends 48,000 rows a second (one trade
// to ten quotes, an update of each table per ms) through a tickerplant process to an rdb process
// that has 8.8 million rows already; measured is how long after it was due a row is visible, by the
// rdb's own `.rdb.latency[]`:
//
//   none      nobody asks
//   monitor   1,000 rounds of a monitor's three questions a second, 4 connections
//   scan      one query thread that aggregates a column of the whole table without pause
//
// and, unpaced, how many rows a second the rdb takes without and with the scan. Each for columns in
// DRAM and in files of /dev/shm. Three rounds of all of it in turn, and of their figures the
// median; prints a table. Takes some 20 times `seconds` and a minute, and 3 GB in /dev/shm and 2 in
// DRAM.
//
// With fewer cores than busy threads (feed, tickerplant, rdb, query, client) all share them, so the
// table also says what the thread that takes rows used of a core for a row, and how long it waited
// for one: the first is what queries cost it in caches and memory, and all they would cost with
// cores enough.
//
// `directory` is for the tickerplant's log; `query_nice` is the rdb's option.
void RunQueriesWorkload(double seconds, const std::string& directory, int query_nice);

}  // namespace tickstack::bench
