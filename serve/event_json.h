#pragma once

// What an event at /events contains (wire/event_hub.h): the process's statistics as JSON.
//
//   {"ms":1764115200000,                       time of the event, ms since 1970
//    "role":"rdb","name":"rdb1","version":"...",
//    "ready":false,"reasons":["tier pmem is 93 % full: ..."],
//    "cpu_s":1.5,"resident_bytes":123,"start_s":1764115100.5,
//    "disks":[{"disk":"log","free":1,"size":2}],
//    "facts":{".rdb.stats":{...},...},         answers of statistics functions, as a query's JSON
//    "durations":[{"source":"latency","label":"","counts":[0,...],"sum_ns":0}],
//    ...}                                      members that only this process has
//
// The counts of durations only grow; count i is the number of durations up to 1.024 us times 2^i
// that are in no earlier bucket (base/duration_buckets.h).

#include <string>
#include <string_view>

#include "serve/metrics.h"

namespace tickstack::serve {

// Returns a text as JSON, with its quotes.
std::string JsonText(std::string_view text);

// Returns the members `facts` and `durations`, without braces around them. Threads: any.
std::string FactsJson(const StatusFacts& facts);

}  // namespace tickstack::serve
