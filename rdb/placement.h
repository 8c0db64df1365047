#pragma once

// Which tier holds what of an RDB: `[rdb.placement]`, resolved for the tables that there are.
//
//   key           names the tier of                  for a column    for an index
//   quote.time    a column                           first
//   quote.index   a table's index                                    first
//   index         every index                                        then
//   quote         a table: columns and index         then            then
//   default       everything                         else            else
//   query         what queries build meanwhile; it does not follow default: it is DRAM if absent
//
// Rows never move: a placement holds from the first row of a table on.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "mem/tier.h"
#include "table/schema.h"
#include "table/table.h"

namespace tickstack::rdb {

inline constexpr std::string_view kDramTier = "dram";  // Always there.

// Keys and the names of their tiers, before there are tiers or tables. A value.
class PlacementRules {
 public:
  // The last one of a key wins.
  void Set(std::string_view key, std::string_view tier) {
    tiers_.insert_or_assign(std::string(key), tier);
  }

  std::string_view TierOfColumn(std::string_view table, std::string_view column) const;
  std::string_view TierOfIndex(std::string_view table) const;
  std::string_view TierOfQueries() const { return Tier("query", kDramTier); }
  std::string_view TierOfTheRest() const { return Tier("default", kDramTier); }

  // Whether some key names it, or a key that is absent would.
  bool Uses(std::string_view tier) const;
  // The same, but for query scratch: whether rows or index may come to live in it.
  bool HoldsRows(std::string_view tier) const;

  const std::map<std::string, std::string, std::less<>>& keys() const { return tiers_; }

 private:
  std::string_view Tier(std::string_view key, std::string_view otherwise) const;

  std::map<std::string, std::string, std::less<>> tiers_;
};

// kInvalidArgument with what there is instead if a key names no table or column of `schemas`, or
// may mean two things: `quote.index` where quote has a column of that name.
absl::Status CheckPlacementKey(std::string_view key, std::span<const Schema> schemas);

// The table that a key names, `quote` of `quote.time`; empty for default, index and query.
std::string_view TableOfPlacementKey(std::string_view key);

// The tables that have a key of their own, such as `quote`, without columns and indexes.
std::vector<std::string_view> TablesWithAKey(const PlacementRules& rules);

// Rules and the open tiers that they name. Cheap to copy; the tiers outlive it. Threads: any.
class Placement {
 public:
  explicit Placement(mem::Tier* everything);
  // Every tier that the rules use is among `tiers`.
  Placement(PlacementRules rules, std::vector<mem::Tier*> tiers);

  TablePlacement Of(const Schema& schema) const;
  mem::Tier* rows() const { return Named(rules_.TierOfTheRest()); }  // What no other key names.
  // Whether the table of this name outlives the process: its columns are in a persistent tier. A
  // table is there as a whole or not at all; whoever reads a configuration checks that.
  bool IsDurable(std::string_view table) const;
  mem::Tier* queries() const { return Named(rules_.TierOfQueries()); }
  const PlacementRules& rules() const { return rules_; }
  std::span<mem::Tier* const> tiers() const { return tiers_; }

 private:
  mem::Tier* Named(std::string_view tier) const;

  PlacementRules rules_;
  std::vector<mem::Tier*> tiers_;
  std::vector<std::string> names_;  // Names of `tiers_`.
};

}  // namespace tickstack::rdb
