#include "rdb/placement_rules.h"

#include <algorithm>

#include "base/check.h"
#include "base/status.h"

namespace tickstack::rdb {
namespace {

constexpr std::string_view kIndex = "index";

bool IsWord(std::string_view key) { return key == "default" || key == kIndex || key == "query"; }

const Schema* Find(std::span<const Schema> schemas, std::string_view table) {
  for (const Schema& schema : schemas) {
    if (schema.table == table) return &schema;
  }
  return nullptr;
}

std::string TableNames(std::span<const Schema> schemas) {
  std::string names;
  for (const Schema& schema : schemas) names += (names.empty() ? "" : ", ") + schema.table;
  return names;
}

std::string ColumnNames(const Schema& schema) {
  std::string names;
  for (const ColumnSpec& column : schema.columns) names += column.name + ", ";
  return names + "or index";
}

}  // namespace

std::string_view PlacementRules::Tier(std::string_view key, std::string_view otherwise) const {
  const auto at = tiers_.find(key);
  return at == tiers_.end() ? otherwise : std::string_view(at->second);
}

std::string_view PlacementRules::TierOfColumn(std::string_view table,
                                              std::string_view column) const {
  return Tier(fmt::format("{}.{}", table, column), Tier(table, TierOfTheRest()));
}

std::string_view PlacementRules::TierOfIndex(std::string_view table) const {
  return Tier(fmt::format("{}.{}", table, kIndex), Tier(kIndex, Tier(table, TierOfTheRest())));
}

bool PlacementRules::HoldsRows(std::string_view tier) const {
  return TierOfTheRest() == tier || (age_ && age_->tier == tier) ||
         std::any_of(tiers_.begin(), tiers_.end(), [&](const auto& rule) {
           return rule.first != "query" && rule.second == tier;
         });
}

bool PlacementRules::Uses(std::string_view tier) const {
  return HoldsRows(tier) || TierOfQueries() == tier;
}

std::string_view TableOfPlacementKey(std::string_view key) {
  return IsWord(key) ? std::string_view() : key.substr(0, key.find('.'));
}

std::vector<std::string_view> TablesWithAKey(const PlacementRules& rules) {
  std::vector<std::string_view> tables;
  for (const auto& [key, tier] : rules.keys()) {
    if (!IsWord(key) && key.find('.') == std::string::npos) tables.emplace_back(key);
  }
  return tables;
}

absl::Status CheckPlacementKey(std::string_view key, std::span<const Schema> schemas) {
  const size_t dot = key.find('.');
  const std::string_view table = key.substr(0, dot);
  const Schema* const schema = Find(schemas, table);
  if (IsWord(key)) {
    if (schema == nullptr) return absl::OkStatus();
    return InvalidArgument(
        "a table has this name as well: place its columns one by one, \"{}.time\" ...", key);
  }
  if (schema == nullptr) {
    return InvalidArgument("no table \"{}\": expected default, index, query, or one of {}", table,
                           TableNames(schemas));
  }
  if (dot == std::string_view::npos) return absl::OkStatus();
  const std::string_view column = key.substr(dot + 1);
  const bool is_column = schema->Find(column) >= 0;
  if (column == kIndex && is_column) {
    return InvalidArgument(
        "table {} has a column index, so this may be that or its index: name "
        "the column otherwise",
        table);
  }
  if (column == kIndex && !HasIndex(*schema)) {
    return InvalidArgument(
        "table {} has no index: expected a column sym of symbols in it, or a key", table);
  }
  if (column == kIndex || is_column) return absl::OkStatus();
  return InvalidArgument("table {} has no column \"{}\": expected {}", table, column,
                         ColumnNames(*schema));
}

Placement::Placement(mem::Tier* everything) : tiers_({everything}) {
  names_.push_back(everything->Stats().name);
  rules_.Set("default", names_.front());
  rules_.Set("query", names_.front());
}

Placement::Placement(PlacementRules rules, std::vector<mem::Tier*> tiers)
    : rules_(std::move(rules)), tiers_(std::move(tiers)) {
  for (const mem::Tier* tier : tiers_) names_.push_back(tier->Stats().name);
  if (!rules_.age()) return;
  mem::Tier* const older = Named(rules_.age()->tier);
  for (size_t i = 0; i < tiers_.size(); ++i) {
    mem::Tier* const tier = tiers_[i];
    const bool moves =
        tier != older && tier->persistent() == nullptr && rules_.HoldsRows(names_[i]);
    if (moves) aged_.emplace(tier, std::make_shared<mem::AgedTier>(tier, older));
  }
}

mem::Tier* Placement::Named(std::string_view tier) const {
  const auto at = std::find(names_.begin(), names_.end(), tier);
  TS_CHECK(at != names_.end());
  return tiers_[static_cast<size_t>(at - names_.begin())];
}

mem::Tier* Placement::NamedForRows(std::string_view tier) const {
  mem::Tier* const named = Named(tier);
  const auto aged = aged_.find(named);
  return aged == aged_.end() ? named : aged->second.get();
}

std::vector<const mem::Tier*> Placement::RecentTiers() const {
  std::vector<const mem::Tier*> recent;
  for (const auto& [tier, aged] : aged_) recent.push_back(tier);
  return recent;
}

bool Placement::IsDurable(std::string_view table) const {
  // Asks for a column without a name, which gives the tier of columns that have no key of their
  // own.
  return Named(rules_.TierOfColumn(table, ""))->persistent() != nullptr;
}

TablePlacement Placement::Of(const Schema& schema) const {
  TablePlacement placement;
  placement.columns = NamedForRows(rules_.TierOfTheRest());
  for (const ColumnSpec& column : schema.columns) {
    placement.column.push_back(NamedForRows(rules_.TierOfColumn(schema.table, column.name)));
  }
  placement.index = NamedForRows(rules_.TierOfIndex(schema.table));
  return placement;
}

}  // namespace tickstack::rdb
