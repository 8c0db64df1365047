#pragma once

// The queries of `tickstack hdb queries`: what analysts ask of years of trades and quotes, in q and
// in words. docs/operating/history-queries.md shows them.
//
// Each client asks a query about days, symbols and times of its own (a Subject), which depend on
// nothing but the database, the seed, and the numbers of query and client. So the question of
// client 7 is the same in a run with 10 clients as in one with 100, and in the next run.
//
// Days and symbols are cut into windows and sets. Clients whose questions must not overlap first
// take different windows of one set, then the same windows of the next set:
//
//             window 0   window 1   window 2
//   set 0     client 0   client 1   client 2     no two clients read a row in common, as long as
//   set 1     client 3   client 4   ...          there are at least as many cells as clients
//
// Windows and sets are taken in a random order, so that neighbours are not neighbours on disk.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tickstack::measure::query_suite {

// What the questions are made from.
struct DatabaseFacts {
  std::vector<int32_t> dates;        // Days since 2000, ascending; at least one.
  std::vector<std::string> symbols;  // In a fixed order; at least one.
  // Time of day of the first and the last trade of a day, in ns.
  int64_t first_ns = 0;
  int64_t last_ns = 0;
};

// What one client asks about.
struct Subject {
  int32_t from = 0;  // First day.
  int32_t to = 0;    // Last day, included.
  std::vector<std::string> symbols;
  // Times of day in ns, both included.
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

struct HistoryQuery {
  std::string_view name;
  std::string_view words;
  // q, in which {from}, {to}, {symbols}, {begin} and {end} are replaced by the subject.
  std::string_view text;
  size_t days = 1;           // Days of a window; a shorter database is one window.
  size_t symbols_share = 1;  // A set has one symbol of this many, and at least one.
  bool overlap = false;      // True: all clients ask about the first client's subject.
};

// Returns all queries, in the order in which they run. Each name is in one of them.
std::span<const HistoryQuery> HistoryQueries();

// Returns the subject of a client, counted from 0. `query` is an element of HistoryQueries().
Subject SubjectOf(const HistoryQuery& query, const DatabaseFacts& facts, uint64_t seed,
                  size_t client);

// Returns how many clients can ask this query before two of them ask about the same days and
// symbols.
size_t DistinctSubjects(const HistoryQuery& query, const DatabaseFacts& facts);

// Returns true if a symbol can be part of a question: if it is a literal of q.
bool IsPlainSymbol(std::string_view name);

// Returns the query in q.
std::string TextOf(const HistoryQuery& query, const Subject& subject);

}  // namespace tickstack::measure::query_suite
