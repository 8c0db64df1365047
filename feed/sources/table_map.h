#pragma once

// How the tables of an exchange become those of a stack: `[feed.map.TABLE]` renames a table and its
// columns, drops columns, and adds columns that have the same symbol in each row.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "table/schema.h"

namespace tickstack::feed {

struct TableChange {
  std::string of{};    // The source's name of the table.
  std::string name{};  // The stack's; empty: the same.
  std::vector<std::string> drop{};
  std::vector<std::pair<std::string, std::string>> rename{};  // Column, and its name in the stack.
  std::vector<std::pair<std::string, std::string>> add{};     // Column, and its symbol.
};

struct MappedTable {
  std::string of{};
  Schema schema{};                   // The columns that are kept, then those that are added.
  std::vector<bool> kept{};          // By column of the source.
  std::vector<std::string> added{};  // The symbols of the last columns.
};

// Returns the tables of `wanted` with the changes of those that have some. kInvalidArgument with
// the table and the column for a name that does not exist, is no name, or would occur twice; and
// for changes of `time` and `sym`, by which a tickerplant knows rows.
absl::StatusOr<std::vector<MappedTable>> MapTables(std::span<const Schema> wanted,
                                                   std::span<const TableChange> changes);

// Returns the changes as a text that differs if they do; empty for none.
std::string Describe(std::span<const TableChange> changes);

}  // namespace tickstack::feed
