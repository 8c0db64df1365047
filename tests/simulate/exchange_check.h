#pragma once

// Questions about the rows of a live feed, at the end of a life:
//
//   numbers     in each session, those of rows and of gaps together are all from the first to the
//               last, each once
//   ends        the last number is one that a packet named to a feed that ran on
//   messages    each that arrived in time, on any line, at a feed that ran on has a row
//   rows        are those of the messages, in order
//
// After the operator removed the spool, numbers up to then may be missing, or be there again under
// the new name.

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tests/simulate/exchange_feed.h"
#include "tests/simulate/rows.h"

namespace tickstack::simulate {

struct ExchangeRows {
  const std::map<int32_t, TableTexts>& days;  // By date.
  std::set<int32_t> unordered;                // Days whose rows are in another order.
  bool may_lack_rows = false;                 // Any row may be missing from the logs.
};

// Returns the first thing that is wrong with the logged rows; empty: nothing.
std::string FindWrongExchangeRows(const ExchangeFeed& feed, const ExchangeRows& rows);

}  // namespace tickstack::simulate
