#pragma once

// The tables of a tickerplant as text, by which members of a cluster find out that they have the
// same ones. A member with other tables would log rows that it cannot hold, or be without rows that
// clients expect of it.
//
// Threads: reentrant.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "table/schema.h"

namespace tickstack::tickerplant {

inline constexpr size_t kTablesTextBytesMax = size_t{900} << 10;

// Returns the tables and their columns as text, a line for each table, by name: `t time n\n`. Of
// tables whose text would be longer than kTablesTextBytesMax, returns a checksum.
std::string TablesText(std::span<const Schema> schemas);
// Returns how two such texts differ, such as `table trade is "time n" there, and "time p" here`.
// The text of a peer may be anything. `at_here` and `at_there` name the two sides.
std::string DescribeOtherTables(std::string_view here, std::string_view there,
                                std::string_view at_here = "here",
                                std::string_view at_there = "there");

}  // namespace tickstack::tickerplant
