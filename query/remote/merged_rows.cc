#include "query/remote/merged_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "query/columns/errors.h"
#include "query/remote/part_rows.h"
#include "query/remote/remote_columns.h"

namespace tickstack::query {
namespace {

using Side = RemoteTable::Side;

// The types of `time` by which the rows of a partition are ordered.
bool IsTimeOfRows(Type type) { return type == Type::kTimestamp || type == Type::kTimespan; }

std::optional<size_t> PositionIn(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<size_t>(found - names.begin());
}

// True if the rows have the order of a partition: another shard may have written the day that this
// part is still writing.
bool IsOfPartition(const RemotePart& part, const std::vector<RemotePart>& parts) {
  if (part.side == Side::kPast) return true;
  return std::ranges::any_of(parts, [&part](const RemotePart& other) {
    return other.side == Side::kPast && part.day && std::ranges::count(other.days, *part.day) > 0;
  });
}

// Merges rows of one kind: those of partitions, or those of rdbs.
class RowMerger {
 public:
  RowMerger(Context& context, const RemoteTable& table, const std::vector<std::string>& names,
            bool dated, bool of_partitions)
      : context_(context),
        table_(table),
        of_partitions_(of_partitions),
        time_(PositionIn(names, kTimeColumn)) {
    const std::optional<size_t> sym = PositionIn(names, kSymColumn);
    // Rows of a keyed table are in the order in which their keys came first.
    const bool by_arrival =
        !of_partitions && table.KeyColumns() > 0 && !IsKeyColumn(table, kTimeColumn);
    if (dated) keys_.push_back(0);
    by_sym_ = of_partitions && sym && table.ShardColumn() == kSymColumn;
    if (sym && by_sym_) {
      keys_.push_back(*sym);
    } else if (time_ && !by_arrival) {
      keys_.push_back(*time_);
    } else {
      all_sorted_ = false;
    }
  }

  absl::Status Add(const RemotePart& part, std::vector<Value> columns) {
    const size_t rows = columns.front().count();
    if (rows > 0) with_rows_.insert(part.shard);
    TS_RETURN_IF_ERROR(context_.budget.Charge(rows, sizeof(int64_t)));
    part_of_row_.insert(part_of_row_.end(), rows, parts_++);
    TS_RETURN_IF_ERROR(OrderPart(part, columns));
    return joined_.Add(table_.name(), std::move(columns), context_.budget);
  }

  bool empty() const { return joined_.empty(); }

  absl::StatusOr<std::vector<Value>> Merged(ShardOrder order) {
    std::vector<Value> columns = joined_.Take();
    const bool must_be_known = order == ShardOrder::kOfRows;
    if (with_rows_.size() < 2) return columns;
    if (!all_sorted_) {
      if (must_be_known) return UnknownOrder("which are not in order of");
      return columns;
    }
    columns.push_back(Value::Vector(Type::kLong, std::span<const int64_t>(part_of_row_)));
    TS_RETURN_IF_ERROR(SortRows(context_, columns, keys_));
    TS_ASSIGN_OR_RETURN(const bool has_ties, HasTies(context_, columns, keys_));
    columns.pop_back();
    if (has_ties && must_be_known) return UnknownOrder("which have equal values of");
    return columns;
  }

 private:
  // Sorts rows that will be written as a partition as that will be (disk/row_order.h). Others stay
  // as they are, and it is noted whether they are sorted.
  absl::Status OrderPart(const RemotePart& part, std::vector<Value>& columns) {
    const bool by_time = time_ && IsTimeOfRows(columns[*time_].type());
    if (of_partitions_ && part.side == Side::kLast && (by_sym_ || by_time)) {
      std::vector<size_t> written = keys_;
      if (by_sym_ && by_time) written.push_back(*time_);
      return SortRows(context_, columns, written);
    }
    if (!all_sorted_) return absl::OkStatus();
    TS_ASSIGN_OR_RETURN(const std::optional<Value> other, OrderOfRows(context_, columns, keys_));
    all_sorted_ = !other.has_value();
    return absl::OkStatus();
  }

  // The error of a result that depends on an order that is not known.
  absl::Status UnknownOrder(std::string_view why) const {
    const std::string_view symbol = table_.ShardColumn();
    return NyiError(fmt::format(
        "the order of rows of several shards, {} {}{}", why, by_sym_ ? kSymColumn : kTimeColumn,
        symbol.empty() ? "" : fmt::format(": add by {0}, or sort them by `{0}", symbol)));
  }

  Context& context_;
  const RemoteTable& table_;
  const bool of_partitions_;
  const std::optional<size_t> time_;  // Position of the column `time`.
  bool by_sym_ = false;               // The rows of one day are in the order of their symbols.
  std::vector<size_t> keys_;          // Positions of the columns that they are sorted by.
  bool all_sorted_ = true;            // The rows of each part are, and all of them can be.
  PartRows joined_;
  int64_t parts_ = 0;                       // How many were added.
  std::vector<int64_t> part_of_row_;        // Number of the part of each row in `joined_`.
  std::set<const RemoteTable*> with_rows_;  // Shards with at least one row.
};

}  // namespace

absl::StatusOr<std::vector<Value>> MergeRows(Context& context, const RemoteTable& table,
                                             const std::vector<RemotePart>& parts,
                                             std::vector<std::vector<Value>> of_parts,
                                             const std::vector<std::string>& names, bool dated,
                                             ShardOrder order) {
  PartRows all;
  for (const bool of_partitions : {true, false}) {
    RowMerger merger(context, table, names, dated, of_partitions);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (IsOfPartition(parts[i], parts) != of_partitions) continue;
      TS_RETURN_IF_ERROR(merger.Add(parts[i], std::move(of_parts[i])));
    }
    if (merger.empty()) continue;
    TS_ASSIGN_OR_RETURN(std::vector<Value> columns, merger.Merged(order));
    TS_RETURN_IF_ERROR(all.Add(table.name(), std::move(columns), context.budget));
  }
  std::vector<Value> columns = all.Take();
  if (dated) TS_RETURN_IF_ERROR(SortRows(context, columns, {0}));
  return columns;
}

}  // namespace tickstack::query
