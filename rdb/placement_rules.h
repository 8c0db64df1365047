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
// A placement is valid from the first row of a table on. With an age rule, old rows move from these
// tiers to the tier that the rule names (row_mover.h).

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "mem/aged_tier.h"
#include "mem/tier.h"
#include "table/schema.h"
#include "table/table.h"

namespace tickstack::rdb {

inline constexpr std::string_view kDramTier = "dram";  // Always exists.

// Where rows go when they are old: `then` and `older_than_minutes` of the placement.
struct AgeRule {
  std::string tier;
  int64_t older_than_ns = 0;
};

// Keys and the names of their tiers, before tiers or tables exist. A value type.
class PlacementRules {
 public:
  // The last value of a key wins.
  void Set(std::string_view key, std::string_view tier) {
    tiers_.insert_or_assign(std::string(key), tier);
  }

  void SetAge(AgeRule age) { age_ = std::move(age); }
  const std::optional<AgeRule>& age() const { return age_; }

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
  std::optional<AgeRule> age_;
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

  // With an age rule, the tiers are aged ones, as far as their rows move.
  TablePlacement Of(const Schema& schema) const;
  // The tier to which old rows move; nullptr without an age rule.
  mem::Tier* OlderTier() const { return rules_.age() ? Named(rules_.age()->tier) : nullptr; }
  // True if rows move from this tier, and others go elsewhere when it is full.
  bool PassesOn(const mem::Tier* tier) const { return aged_.contains(tier); }
  // The tiers from which old rows move; none without an age rule.
  std::vector<const mem::Tier*> RecentTiers() const;
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
  // Returns the aged tier of a tier whose rows move; otherwise the tier itself.
  mem::Tier* NamedForRows(std::string_view tier) const;

  PlacementRules rules_;
  std::vector<mem::Tier*> tiers_;
  std::map<const mem::Tier*, std::shared_ptr<mem::AgedTier>> aged_;  // By their recent tiers.
  std::vector<std::string> names_;                                   // Names of `tiers_`.
};

}  // namespace tickstack::rdb
