#include "query/remote/part_aggregates.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "query/columns/elements.h"
#include "query/columns/table_view.h"
#include "query/language/node_copy.h"
#include "query/language/select.h"
#include "query/remote/part_answers.h"
#include "query/remote/part_rows.h"
#include "query/remote/split_aggregates.h"

namespace tickstack::query {
namespace {

// Joins the results of the parts, which are a table each, and evaluates the query over them.
class ResultsOfParts {
 public:
  ResultsOfParts(Context& context, const PreparedQuery& prepared, const SplitQuery& split)
      : context_(context), prepared_(prepared), split_(split) {
    for (const NamedNode& group : split.of_part->groups) names_.push_back(group.name);
    for (const NamedNode& column : split.of_part->columns) names_.push_back(column.name);
    if (split.date_group) date_ = names_[*split.date_group];
  }

  absl::StatusOr<std::optional<Term>> Combined(const std::vector<RemotePart>& parts) {
    const auto query_for = [this](const RemotePart& part) { return QueryFor(part); };
    const auto take = [this](const RemotePart& part, Value answer) {
      return Take(part, std::move(answer));
    };
    TS_RETURN_IF_ERROR(
        AskEach(context_, prepared_, parts, prepared_.query.conditions.size(), query_for, take));
    if (!can_be_combined_) return std::nullopt;
    std::vector<Value> columns = joined_.empty() ? *std::move(without_rows_) : joined_.Take();
    if (split_.ordered && split_.date_group) {
      TS_RETURN_IF_ERROR(SortRows(context_, columns, {*split_.date_group}));
    }
    TS_ASSIGN_OR_RETURN(Term term, EvaluateQueryOver(context_, *split_.of_results,
                                                     ViewOf(std::move(names_), std::move(columns)),
                                                     /*conditions=*/{}));
    return std::optional<Term>(std::move(term));
  }

 private:
  Query QueryFor(const RemotePart& part) const {
    Query query = std::move(*CopyOf(*split_.of_part));
    query.source = NameNode(prepared_.table.name());
    if (split_.date_group && part.day) {
      query.groups.erase(query.groups.begin() + static_cast<ptrdiff_t>(*split_.date_group));
      query.grouped = !query.groups.empty();
    }
    // Otherwise a vector, such as a text, would be the column.
    for (NamedNode& column : query.columns) {
      if (!query.grouped && !query.distinct)
        column.node = CallNode("enlist", std::move(column.node));
    }
    return query;
  }

  absl::StatusOr<bool> Take(const RemotePart& part, Value answer) {
    TS_ASSIGN_OR_RETURN(std::vector<Value> columns,
                        ColumnsIn(context_, part, std::move(answer), names_, date_));
    TS_ASSIGN_OR_RETURN(can_be_combined_, CanCombine(columns));
    if (!can_be_combined_) return false;
    if (HasRows(columns)) {
      TS_RETURN_IF_ERROR(joined_.Add(prepared_.table.name(), std::move(columns), context_.budget));
      return true;
    }
    // `by date` alone is no group for a part without a column `date`.
    for (Value& column : columns) {
      if (prepared_.query.grouped) column = EmptyVector(column.type());
    }
    if (!without_rows_) without_rows_ = std::move(columns);
    return true;
  }

  absl::StatusOr<bool> CanCombine(const std::vector<Value>& columns) {
    if (prepared_.query.distinct) return true;
    for (size_t i = 0; i < split_.of_part->columns.size(); ++i) {
      const Value& results = columns[split_.of_part->groups.size() + i];
      TS_ASSIGN_OR_RETURN(const bool can,
                          CanBeCombined(context_, split_.of_part->columns[i], results));
      if (!can) return false;
    }
    return true;
  }

  // Without groups, no rows make a row, which is the result if no part has any.
  bool HasRows(const std::vector<Value>& columns) const {
    return prepared_.query.distinct ||
           std::ranges::any_of(columns.back().span<int64_t>(), [](int64_t n) { return n > 0; });
  }

  Context& context_;
  const PreparedQuery& prepared_;
  const SplitQuery& split_;
  std::vector<std::string> names_;        // Columns of the results: groups, then aggregates.
  std::optional<std::string_view> date_;  // The one that is a group by `date`.
  PartRows joined_;
  std::optional<std::vector<Value>> without_rows_;  // Columns of the first part without rows.
  bool can_be_combined_ = true;
};

// Groups by `date` as well: a symbol may be in one shard on one day and in another shard on the
// next, so the results are combined in the order of days.
void GroupByDate(SplitQuery& split) {
  split.date_group = split.of_part->groups.size();
  split.of_part->groups.push_back({std::string(kDateColumn), true, NameNode(kDateColumn)});
}

}  // namespace

absl::StatusOr<std::optional<Term>> AggregateParts(Context& context, const PreparedQuery& prepared,
                                                   const std::vector<RemotePart>& parts,
                                                   bool by_days, ShardOrder order, RowUse use) {
  if (!prepared.sendable || !prepared.AllConditionsGoByItem()) return std::nullopt;
  std::optional<SplitQuery> split = Split(prepared.query, prepared.names);
  if (!split) return std::nullopt;
  const bool of_shards = AreOfSeveralShards(parts);
  const bool ordered = of_shards && split->ordered;
  if (ordered && order != ShardOrder::kOfDays) return std::nullopt;
  // The first row of each kind, in the order of the parts.
  const bool distinct = of_shards && prepared.query.distinct;
  const bool any_order = use.any_order && use.sorted_by == nullptr;
  if (distinct && !any_order) return std::nullopt;
  if (ordered && by_days && !split->date_group) GroupByDate(*split);
  return ResultsOfParts(context, prepared, *split).Combined(parts);
}

}  // namespace tickstack::query
