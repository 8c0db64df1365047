#include "query/remote/fetched_rows.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "query/columns/errors.h"
#include "query/columns/table_view.h"
#include "query/language/node_copy.h"
#include "query/language/select.h"
#include "query/remote/merged_rows.h"
#include "query/remote/part_answers.h"
#include "query/remote/part_rows.h"
#include "query/remote/remote_columns.h"

namespace tickstack::query {
namespace {

using Side = RemoteTable::Side;

class RowFetcher {
 public:
  RowFetcher(Context& context, const PreparedQuery& prepared, const std::vector<RemotePart>& parts,
             bool with_date, ShardOrder order)
      : context_(context),
        prepared_(prepared),
        parts_(parts),
        with_date_(with_date),
        order_(order),
        merges_(order == ShardOrder::kPreferably || order == ShardOrder::kOfRows),
        all_columns_(prepared.query.columns.empty() || !prepared.sendable),
        as_in_rdb_(!with_date && std::ranges::all_of(parts, IsLast)) {}

  absl::StatusOr<Term> Run() {
    size_t conditions_sent = prepared_.conditions_by_item;
    if (prepared_.row_number) {
      const bool one = parts_.size() == 1 && (IsLast(parts_[0]) || parts_[0].days.size() == 1);
      if (!one) return NyiError("i over several partitions");
      conditions_sent = 0;
    }
    const std::span<const NodePtr> left =
        std::span(prepared_.query.conditions).subspan(conditions_sent);
    std::vector<std::string> names = NamesToFetch(!left.empty());
    TS_ASSIGN_OR_RETURN(std::vector<Value> rows, Fetch(names, conditions_sent));
    TableView view = ViewOf(std::move(names), std::move(rows));
    if (as_in_rdb_ && all_columns_) view.key_columns = prepared_.table.KeyColumns();
    return EvaluateQueryOver(context_, prepared_.query, std::move(view), left);
  }

 private:
  static bool IsLast(const RemotePart& part) { return part.side == Side::kLast; }

  std::vector<std::string> NamesToFetch(bool for_conditions) const {
    const RemoteTable& table = prepared_.table;
    // A partition has its own order of columns.
    const Side side = with_date_ && table.IsOn(Side::kPast) ? Side::kPast : parts_.front().side;
    std::vector<std::string> names;
    if (with_date_) names.emplace_back(kDateColumn);
    for (const std::string& column : as_in_rdb_ ? table.LastColumns() : table.Columns(side)) {
      if (IsNeeded(column, for_conditions)) names.push_back(column);
    }
    // The number of rows is needed even if no column is.
    if (names.empty() && !prepared_.columns.empty()) names.push_back(prepared_.columns.front());
    return names;
  }

  bool IsNeeded(const std::string& column, bool for_conditions) const {
    return all_columns_ || prepared_.wanted.contains(column) ||
           (for_conditions && prepared_.of_conditions.contains(column)) ||
           (merges_ && (column == kTimeColumn || column == kSymColumn));
  }

  // Returns the columns with these names, of the rows of all parts.
  absl::StatusOr<std::vector<Value>> Fetch(const std::vector<std::string>& names,
                                           size_t conditions_sent) {
    const std::string& table = prepared_.table.name();
    std::vector<std::vector<Value>> of_parts;
    PartRows joined;
    const auto query_for = [&](const RemotePart& part) { return QueryFor(part, names); };
    const auto take = [&](const RemotePart& part, Value answer) -> absl::StatusOr<bool> {
      TS_ASSIGN_OR_RETURN(std::vector<Value> columns,
                          ColumnsIn(context_, part, std::move(answer), names, kDateColumn));
      if (merges_) {
        of_parts.push_back(std::move(columns));
      } else {
        TS_RETURN_IF_ERROR(joined.Add(table, std::move(columns), context_.budget));
      }
      return true;
    };
    TS_RETURN_IF_ERROR(AskEach(context_, prepared_, parts_, conditions_sent, query_for, take));
    if (merges_) {
      return MergeRows(context_, prepared_.table, parts_, std::move(of_parts), names, with_date_,
                       order_);
    }
    std::vector<Value> rows = joined.Take();
    if (order_ == ShardOrder::kOfDays && with_date_)
      TS_RETURN_IF_ERROR(SortRows(context_, rows, {0}));
    return rows;
  }

  Query QueryFor(const RemotePart& part, const std::vector<std::string>& names) const {
    Query fetch;
    fetch.source = NameNode(prepared_.table.name());
    for (const std::string& name : names) {
      if (!part.day || name != kDateColumn) fetch.columns.push_back({name, true, NameNode(name)});
    }
    if (fetch.columns.empty()) {  // Only `date` is wanted: any column has the number of rows.
      const std::string& any = prepared_.columns.front();
      fetch.columns.push_back({any, true, NameNode(any)});
    }
    return fetch;
  }

  Context& context_;
  const PreparedQuery& prepared_;
  const std::vector<RemotePart>& parts_;
  const bool with_date_;
  const ShardOrder order_;
  const bool merges_;       // Rows of several shards are brought into the order of one process.
  const bool all_columns_;  // Other columns may be needed than those that expressions name.
  // Without days, the rows are those that an rdb has: with their keys, and with their own column
  // `date` if they have one.
  const bool as_in_rdb_;
};

}  // namespace

absl::StatusOr<Term> EvaluateOverFetched(Context& context, const PreparedQuery& prepared,
                                         const std::vector<RemotePart>& parts, bool with_date,
                                         ShardOrder order) {
  return RowFetcher(context, prepared, parts, with_date, order).Run();
}

}  // namespace tickstack::query
