#pragma once

// Which tier holds which part of an RDB: `[rdb.placement]`, resolved for the existing tables.
//
//   key           names the tier of                  for a column    for an index
//   quote.time    a column                           first
//   quote.index   a table's index                                    first
//   index         every index                                        then
//   quote         a table: columns and index         then            then
//   default       everything                         else            else
//   query         scratch memory of queries; it does not follow default: it is DRAM if absent
//
// Rows never move: a placement is valid from the first row of a table on.

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

inline constexpr std::string_view kDramTier = "dram";  // Always exists.

// Keys and the names of their tiers, before tiers or tables exist. A value type.
class PlacementRules {
 public:
  // The last value of a key wins.
  void Set(std::string_view key, std::string_view tier) {
    tiers_.insert_or_assign(std::string(key), tier);
  }

  std::string_view TierOfColumn(std::string_view table, std::string_view column) const;
  std::string_view TierOfIndex(std::string_view table) const;
  std::string_view TierOfQueries() const { return Tier("query", kDramTier); }
  std::string_view TierOfTheRest() const { return Tier("default", kDramTier); }

  // True if some key names the tier, or if the default of an absent key does.
  bool Uses(std::string_view tier) const;
  // True if rows or an index may be in the tier: Uses, without the scratch memory of queries.
  bool HoldsRows(std::string_view tier) const;

  const std::map<std::string, std::string, std::less<>>& keys() const { return tiers_; }

 private:
  std::string_view Tier(std::string_view key, std::string_view otherwise) const;

  std::map<std::string, std::string, std::less<>> tiers_;
};

// kInvalidArgument, with the alternatives, if a key names no table or column of `schemas`, or is
// ambiguous, such as `quote.index` if quote has a column of that name.
absl::Status CheckPlacementKey(std::string_view key, std::span<const Schema> schemas);

// Returns the table that a key names, `quote` for `quote.time`; empty for default, index and query.
std::string_view TableOfPlacementKey(std::string_view key);

// Returns the tables that have a key of their own, such as `quote`, not counting keys of columns
// and indexes.
std::vector<std::string_view> TablesWithAKey(const PlacementRules& rules);

// Rules, and the open tiers that they name. Cheap to copy; the tiers must outlive it. Threads: any.
class Placement {
 public:
  explicit Placement(mem::Tier* everything);
  // `tiers` must have every tier that the rules use.
  Placement(PlacementRules rules, std::vector<mem::Tier*> tiers);

  TablePlacement Of(const Schema& schema) const;
  // The tier of everything that has no key of its own.
  mem::Tier* rows() const { return Named(rules_.TierOfTheRest()); }
  // True if the table outlives the process: its columns are in a persistent tier. Either all
  // columns of a table are, or none; the configuration's reader checks that.
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
