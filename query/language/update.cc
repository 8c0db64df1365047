#include "query/language/update.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "query/columns/concatenate.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/grouping/grouped.h"
#include "query/language/evaluator.h"
#include "query/language/variables.h"

namespace tickstack::query {
namespace {

bool IsVectorOrItems(const Value& value) { return value.is_vector() || value.is_list(); }

// Finds where row numbers are among the rows of a table.
class RowPositions {
 public:
  static absl::StatusOr<RowPositions> Of(const RowSet& rows, Budget& budget) {
    RowPositions positions;
    if (rows.is_range()) {
      positions.first_row_ = rows.begin_row();
      return positions;
    }
    TS_RETURN_IF_ERROR(budget.Charge(rows.count(), sizeof(uint32_t)));
    positions.ascending_ = rows.ToVector();
    return positions;
  }
  size_t PositionOf(uint32_t row) const {
    if (ascending_.empty()) return row - first_row_;
    return static_cast<size_t>(std::ranges::lower_bound(ascending_, row) - ascending_.begin());
  }

 private:
  size_t first_row_ = 0;
  ScratchVector<uint32_t> ascending_;
};

// A column whose items at some positions are written.
class ColumnChange {
 public:
  // `before` is the column's old value; nullopt for a new column.
  ColumnChange(size_t rows, std::optional<Value> before)
      : rows_(rows), column_(std::move(before)) {}

  // Writes items: an atom for all positions, or an item for each.
  absl::Status Write(std::span<const uint32_t> positions, const Value& items, Budget& budget) {
    const bool spread = !IsVectorOrItems(items);
    if (!spread && items.count() != positions.size()) {
      return LengthError("{} items for {} rows", items.count(), positions.size());
    }
    if (spread && !items.is_atom()) return TypeError("a column of a {}", NameOf(items.type()));
    if (!column_.has_value()) {
      TS_RETURN_IF_ERROR(budget.Charge(rows_, 16));
      const ScratchVector<uint32_t> none(rows_, kNoItem);
      column_ = TakeItems(EmptyVector(items.type()), none);
    }
    if (positions.empty()) return absl::OkStatus();
    if (!column_->is_list() && items.type() != column_->type()) {
      return TypeError("{}s in a column of {}s", NameOf(items.type()), NameOf(column_->type()));
    }
    if (IsFixedWidth(column_->type())) {
      WriteElements(positions, items);
      return absl::OkStatus();
    }
    return WriteItems(positions, items, spread, budget);
  }
  Value Finish() && {
    column_->set_attribute(Attribute::kNone);
    return *std::move(column_);
  }

 private:
  void WriteElements(std::span<const uint32_t> positions, const Value& items) {
    const size_t width = WidthOf(column_->type());
    const std::span<const std::byte> from = items.elements();
    std::byte* const to = MutableElements(*column_).data();
    const size_t step = items.is_atom() ? 0 : width;
    for (size_t i = 0; i < positions.size(); ++i) {
      std::memcpy(to + positions[i] * width, from.data() + i * step, width);
    }
  }
  // Writes names and lists by making all items anew.
  absl::Status WriteItems(std::span<const uint32_t> positions, const Value& items, bool spread,
                          Budget& budget) {
    TS_RETURN_IF_ERROR(budget.Charge(2 * ApproximateBytes(*column_) + ApproximateBytes(items)));
    TS_RETURN_IF_ERROR(budget.Charge(rows_, sizeof(uint32_t)));
    ScratchVector<uint32_t> source(rows_, kNoItem);
    for (uint32_t i = 0; i < positions.size(); ++i) source[positions[i]] = i;
    const bool is_list = column_->is_list();
    SymbolVector names;
    std::vector<Value> list;
    for (size_t row = 0; row < rows_; ++row) {
      const bool old = source[row] == kNoItem;
      const Value& from = old ? *column_ : items;
      const size_t at = old ? row : spread ? 0 : source[row];
      if (is_list) {
        list.push_back(ItemAt(from, at));
      } else {
        names.push_back(from.is_atom() ? from.symbol() : from.symbols()[at]);
      }
    }
    column_ = is_list ? Value::List(std::move(list)) : Value::Symbols(std::move(names));
    return absl::OkStatus();
  }

  const size_t rows_;
  std::optional<Value> column_;
};

class TableUpdate {
 public:
  TableUpdate(Context& context, const Query& query, const TableView& view, RemainingRows left)
      : context_(context), query_(query), view_(view), left_(left) {}

  absl::StatusOr<Term> Run() {
    TS_ASSIGN_OR_RETURN(const RowPositions positions,
                        RowPositions::Of(*view_.rows, context_.budget));
    positions_ = &positions;
    std::vector<Value> changed;
    if (query_.grouped) {
      TS_ASSIGN_OR_RETURN(changed, GroupedColumns());
    } else {
      TS_RETURN_IF_ERROR(left_.Merge(context_.budget));
      for (const NamedNode& column : query_.columns) {
        TS_ASSIGN_OR_RETURN(changed.emplace_back(), Changed(column));
      }
    }
    return WithColumns(std::move(changed));
  }

 private:
  absl::StatusOr<ScratchVector<uint32_t>> PositionsOf(const RowSet& rows) {
    TS_RETURN_IF_ERROR(context_.budget.Charge(rows.count(), sizeof(uint32_t)));
    ScratchVector<uint32_t> positions = rows.ToVector();
    for (uint32_t& row : positions) row = static_cast<uint32_t>(positions_->PositionOf(row));
    return positions;
  }

  absl::StatusOr<Value> Changed(const NamedNode& column) {
    const Scope scope{&view_, left_.rows};
    Context inner = context_.Inside(scope);
    TS_ASSIGN_OR_RETURN(Value items, EvaluateToValue(inner, *column.node));
    const size_t rows = view_.count();
    if (left_.rows->count() == rows) {  // A new column of any type.
      if (items.is_atom()) {
        TS_RETURN_IF_ERROR(context_.budget.Charge(rows, 16));
        return Repeat(items, rows);
      }
      if (!IsVectorOrItems(items))
        return TypeError("column {} of a {}", column.name, NameOf(items.type()));
      if (items.count() == rows) return items;
      return LengthError("column {} of {} items, the table has {} rows", column.name, items.count(),
                         rows);
    }
    TS_ASSIGN_OR_RETURN(ColumnChange change, Begin(column.name));
    TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> positions, PositionsOf(*left_.rows));
    TS_RETURN_IF_ERROR(change.Write(positions, items, context_.budget));
    return std::move(change).Finish();
  }

  // Begins a change of a column with its old items.
  absl::StatusOr<ColumnChange> Begin(std::string_view name) {
    std::optional<Value> before;
    if (const int known = view_.Find(name); known >= 0) {
      TS_ASSIGN_OR_RETURN(const Slice slice,
                          view_.ColumnAt(static_cast<size_t>(known), context_.budget));
      TS_ASSIGN_OR_RETURN(before, Materialise(slice, context_.budget));
    }
    return ColumnChange(view_.count(), std::move(before));
  }

  absl::StatusOr<std::vector<Value>> GroupedColumns() {
    Budget& budget = context_.budget;
    if (left_.rows->count() == 0) {  // Without groups the columns' types are unknown.
      std::vector<Value> columns;
      for (const NamedNode& column : query_.columns) {
        TS_ASSIGN_OR_RETURN(columns.emplace_back(), Changed(column));
      }
      return columns;
    }
    std::vector<std::string> key_names;
    TS_ASSIGN_OR_RETURN(const std::unique_ptr<Groups> groups,
                        MakeGroups(context_, query_.groups, view_, left_, key_names));
    std::vector<const Node*> nodes;
    for (const NamedNode& column : query_.columns) nodes.push_back(column.node.get());
    TS_ASSIGN_OR_RETURN(const std::vector<Value> results,
                        EvaluateOverGroups(context_, Scope{&view_, left_.rows}, *groups, nodes));
    TS_RETURN_IF_ERROR(groups->PrepareRows(budget));
    std::vector<Value> changed;
    for (size_t i = 0; i < results.size(); ++i) {
      TS_ASSIGN_OR_RETURN(changed.emplace_back(),
                          SpreadOverGroups(query_.columns[i].name, results[i], *groups));
    }
    return changed;
  }

  // Returns a group's result for its rows: one item for all of them, or an item for each.
  absl::StatusOr<Value> SpreadOverGroups(std::string_view name, const Value& results,
                                         const Groups& groups) {
    Budget& budget = context_.budget;
    size_t rows = 0;
    TS_RETURN_IF_ERROR(budget.Charge(view_.count(), sizeof(uint32_t) + 16));
    ScratchVector<uint32_t> positions;
    ScratchVector<uint32_t> group_of;  // The group of each row.
    for (size_t group = 0; group < groups.count(); ++group) {
      TS_RETURN_IF_ERROR(budget.CheckTime());
      const Budget::Temporaries temporaries(budget);
      TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> of_group,
                          PositionsOf(*groups.RowsOf(group)));
      positions.insert(positions.end(), of_group.begin(), of_group.end());
      group_of.insert(group_of.end(), of_group.size(), static_cast<uint32_t>(group));
      if (results.is_vector()) continue;
      const Value& piece = results.items()[group];
      if (IsVectorOrItems(piece) && piece.count() != of_group.size()) {
        return LengthError("{} items for a group of {} rows", piece.count(), of_group.size());
      }
      rows += of_group.size();
    }
    Value items = results;
    if (results.is_vector()) {
      items = TakeItems(results, group_of);
    } else if (std::ranges::all_of(results.items(), &Value::is_vector)) {
      TS_ASSIGN_OR_RETURN(items, Raze(results, budget));
    } else {
      TS_RETURN_IF_ERROR(budget.ChargeItems(rows));
      std::vector<Value> all;
      size_t at = 0;
      for (const uint32_t group : group_of) {
        const Value& piece = results.items()[group];
        at = all.empty() || group_of[all.size() - 1] != group ? 0 : at + 1;
        all.push_back(IsVectorOrItems(piece) ? ItemAt(piece, at) : piece);
      }
      items = Collapse(std::move(all));
    }
    // If every row is in a group, the column may have a new type.
    const bool all = positions.size() == view_.count();
    ColumnChange fresh(view_.count(), std::nullopt);
    if (all) {
      TS_RETURN_IF_ERROR(fresh.Write(positions, items, budget));
      return std::move(fresh).Finish();
    }
    TS_ASSIGN_OR_RETURN(ColumnChange change, Begin(name));
    TS_RETURN_IF_ERROR(change.Write(positions, items, budget));
    return std::move(change).Finish();
  }

  absl::StatusOr<Term> WithColumns(std::vector<Value> changed) {
    TableView result;
    result.rows = std::make_shared<const RowSet>(RowSet::Range(0, view_.count()));
    result.key_columns = view_.key_columns;
    for (size_t i = 0; i < view_.columns.size(); ++i) {
      result.names.push_back(view_.names[i]);
      if (view_.columns[i].type() == Type::kList) {  // Its type is that of its items.
        TS_ASSIGN_OR_RETURN(const Slice list, view_.ColumnAt(i, context_.budget));
        TS_ASSIGN_OR_RETURN(Value items, Materialise(list, context_.budget));
        result.columns.emplace_back(std::move(items));
      } else {
        ViewColumn kept = ViewColumn::AtRows(view_.columns[i], view_.rows);
        TS_RETURN_IF_ERROR(kept.Settle(context_.budget));
        result.columns.push_back(std::move(kept));
      }
    }
    for (size_t i = 0; i < changed.size(); ++i) {
      const std::string& name = query_.columns[i].name;
      ViewColumn column(std::move(changed[i]));
      if (const int known = result.Find(name); known >= 0) {
        result.columns[static_cast<size_t>(known)] = std::move(column);
      } else {
        result.names.push_back(name);
        result.columns.push_back(std::move(column));
      }
    }
    return Term(std::move(result));
  }

  Context& context_;
  const Query& query_;
  const TableView& view_;
  const RemainingRows left_;
  const RowPositions* positions_ = nullptr;
};

}  // namespace

absl::StatusOr<Term> UpdateTable(Context& context, const Query& query, const TableView& view,
                                 RemainingRows left) {
  return TableUpdate(context, query, view, left).Run();
}

absl::StatusOr<Term> DeleteFromTable(Context& context, const Query& query, const TableView& view,
                                     RemainingRows left) {
  TableView result = view;
  result.stored = nullptr;
  if (!query.columns.empty()) {
    if (!query.conditions.empty()) return NyiError("delete of columns where");
    for (const NamedNode& column : query.columns) {
      const int at = result.Find(column.name);
      if (at < 0) return NameError(column.name);
      if (static_cast<size_t>(at) < result.key_columns) return NyiError("delete of a key column");
      result.names.erase(result.names.begin() + at);
      result.columns.erase(result.columns.begin() + at);
    }
    if (result.columns.size() == result.key_columns) return LengthError("no column is left");
    return Term(std::move(result));
  }
  TS_RETURN_IF_ERROR(left.Merge(context.budget));
  TS_RETURN_IF_ERROR(context.budget.Charge(view.count(), 2 * sizeof(uint32_t)));
  const ScratchVector<uint32_t> all = view.rows->ToVector(), deleted = left.rows->ToVector();
  ScratchVector<uint32_t> kept;
  kept.reserve(all.size() - deleted.size());
  std::ranges::set_difference(all, deleted, std::back_inserter(kept));
  result.rows = std::make_shared<const RowSet>(RowSet::FromRows(std::move(kept)));
  return Term(std::move(result));
}

}  // namespace tickstack::query
