#include "query/language/window_join.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/joins/indexed_side.h"
#include "query/joins/joined_columns.h"
#include "query/kernels/keys.h"
#include "query/kernels/ordered_times.h"
#include "query/kernels/range_aggregates.h"
#include "query/language/functions.h"

namespace tickstack::query {
namespace {

// ---- The right rows of a key

// Finds the right rows of each key of the left table, ascending by time.
class RowsByKey {
 public:
  // `pairs` are the key columns and, last, the times.
  static absl::StatusOr<RowsByKey> Make(const ColumnPairs& pairs, const TableView& left,
                                        const TableView& right, Budget& budget) {
    RowsByKey rows(right, pairs.right.back());
    const std::span<const size_t> left_keys = std::span(pairs.left).first(pairs.left.size() - 1);
    const std::span<const size_t> right_keys = std::span(pairs.right).first(left_keys.size());
    if (right_keys.size() == 1) {
      TS_ASSIGN_OR_RETURN(rows.index_,
                          IndexedSide::Make(right, right_keys[0], pairs.right.back(), budget));
    }
    TS_RETURN_IF_ERROR(rows.Number(left, left_keys, right_keys, budget));
    return rows;
  }

  size_t keys() const { return left_->groups(); }
  // Returns positions of the left rows with this key; there may be none.
  std::span<const uint32_t> RemainingRows(uint32_t key) const { return left_->PositionsOf(key); }

  absl::StatusOr<TimedRows> RightRows(uint32_t key, Budget& budget) const {
    TimedRows timed;
    if (!index_.has_value()) {
      TS_RETURN_IF_ERROR(budget.Charge(right_->PositionsOf(key).size(), TimedRows::kBytesPerRow));
      timed = TimedRows::Pick(right_->PositionsOf(key), right_times_);
      for (uint32_t& row : timed.rows) row = right_rows_[row];
      return timed;
    }
    const uint32_t first = RemainingRows(key)[0];
    TS_ASSIGN_OR_RETURN(const Value name, left_key_->column.At(left_key_->rows->At(first)));
    const auto rows = std::make_shared<const RowSet>(index_->RowsOf(name.symbol()));
    TS_RETURN_IF_ERROR(budget.Charge(rows->count(), TimedRows::kBytesPerRow));
    timed.rows = rows->ToVector();
    TS_ASSIGN_OR_RETURN(timed.times, OrderedTimes(Slice{index_->time(), rows}, budget));
    timed.Sort();
    return timed;
  }

 private:
  RowsByKey(const TableView& right, size_t time) : view_(right), time_(time) {}

  absl::Status Number(const TableView& left, std::span<const size_t> left_keys,
                      std::span<const size_t> right_keys, Budget& budget) {
    TS_ASSIGN_OR_RETURN(const std::vector<Slice> of_left, left.ColumnsAt(left_keys, budget));
    TS_RETURN_IF_ERROR(budget.Charge(left.count() + view_.count(), 2 * sizeof(uint32_t)));
    ScratchVector<uint32_t> left_number(left.count(), 0), right_number;
    uint32_t keys = 1;
    if (!of_left.empty()) {
      KeyNumbers numbers(of_left.size());
      TS_ASSIGN_OR_RETURN(left_number, numbers.Number(of_left, budget));
      keys = numbers.size();
      if (index_.has_value()) {
        left_key_ = of_left[0];
      } else {
        TS_ASSIGN_OR_RETURN(const std::vector<Slice> of_right, view_.ColumnsAt(right_keys, budget));
        TS_ASSIGN_OR_RETURN(right_number, numbers.Number(of_right, budget));
        keys = numbers.size();
      }
    }
    TS_RETURN_IF_ERROR(budget.Charge(keys, 2 * sizeof(size_t)));
    left_.emplace(left_number, keys);
    if (index_.has_value()) return absl::OkStatus();
    if (right_number.empty()) right_number.resize(view_.count(), 0);
    right_.emplace(right_number, keys);
    right_rows_ = view_.rows->ToVector();
    TS_ASSIGN_OR_RETURN(const Slice time, view_.ColumnAt(time_, budget));
    TS_RETURN_IF_ERROR(budget.Charge(view_.count(), sizeof(int64_t)));
    TS_ASSIGN_OR_RETURN(right_times_, OrderedTimes(time, budget));
    return absl::OkStatus();
  }

  const TableView& view_;
  size_t time_;
  std::optional<Grouping> left_;
  // The index, for the items of the left column; nullopt if `right_` is used.
  std::optional<IndexedSide> index_;
  std::optional<Slice> left_key_;
  // The right rows grouped by key; nullopt if `index_` is used.
  std::optional<Grouping> right_;
  ScratchVector<uint32_t> right_rows_;
  ScratchVector<int64_t> right_times_;
};

// ---- Windows

struct WindowTimes {
  ScratchVector<int64_t> begins, ends;  // Encoded like OrderedTimes.
};

absl::StatusOr<WindowTimes> WindowsOf(const Value& pair, Type type, size_t rows, Budget& budget) {
  if (!pair.is_list() || pair.count() != 2) return TypeError("windows that are no pair of lists");
  WindowTimes windows;
  ScratchVector<int64_t>* out = &windows.begins;
  for (const Value& side : pair.items()) {
    if (!side.is(type)) {
      return TypeError("windows of {}, times of {}", NameOf(side.type()), NameOf(type));
    }
    if (side.count() != rows) return LengthError("{} windows for {} rows", side.count(), rows);
    TS_RETURN_IF_ERROR(budget.Charge(rows, sizeof(int64_t)));
    TS_ASSIGN_OR_RETURN(*out, OrderedTimes(Slice::Of(side), budget));
    out = &windows.ends;
  }
  return windows;
}

ItemRange RangeIn(std::span<const int64_t> times, int64_t begin_ns, int64_t end_ns,
                  WindowStart start) {
  const auto position = [&](auto at) { return static_cast<uint32_t>(at - times.begin()); };
  uint32_t begin = 0;
  if (start == WindowStart::kInside) {
    begin = position(std::ranges::lower_bound(times, begin_ns));
  } else {
    begin = position(std::ranges::upper_bound(times, begin_ns));
    if (begin > 0) --begin;
  }
  const uint32_t end = position(std::ranges::upper_bound(times, end_ns));
  return {begin, std::max(begin, end)};
}

// ---- Aggregates

class WindowAggregate {
 public:
  // Makes an aggregate from a list of a function and the names of columns.
  static absl::StatusOr<WindowAggregate> Make(const Value& spec, const TableView& right,
                                              Budget& budget) {
    if (!spec.is_list() || spec.count() < 2) {
      return TypeError("an aggregate that is no list of a function and columns");
    }
    WindowAggregate made;
    made.function_ = spec.items()[0];
    TS_ASSIGN_OR_RETURN(std::optional<Function> function, AsFunction(made.function_, budget));
    for (size_t i = 1; i < spec.count(); ++i) {
      const Value& name = spec.items()[i];
      if (!name.is_atom_of(Type::kSymbol)) return TypeError("a column that is no name");
      const int column = right.Find(name.symbol());
      if (column < 0) return NameError(name.symbol());
      TS_ASSIGN_OR_RETURN(AnyColumn whole, right.columns[static_cast<size_t>(column)].Get(budget));
      made.columns_.push_back(std::move(whole));
      made.name_ = name.symbol();
    }
    if (function.has_value()) {
      const auto* const builtin = std::get_if<const Builtin*>(&*function);
      if (builtin != nullptr && made.columns_.size() == 1) {
        made.kind_ = RangeKindOf((*builtin)->name, made.columns_[0].type());
      }
      made.function_ = *std::move(function);
    }
    return made;
  }

  const std::string& name() const { return name_; }

  // Returns the result for each range of the rows.
  absl::StatusOr<Value> Of(Context& context, std::span<const uint32_t> rows,
                           std::span<const ItemRange> ranges) const {
    Budget& budget = context.budget;
    std::vector<Slice> items;
    for (const AnyColumn& column : columns_) {
      TS_ASSIGN_OR_RETURN(Value gathered, GatherRows(column, rows, budget));
      if (kind_.has_value()) return AggregateRanges(*kind_, gathered, ranges, budget);
      items.push_back(Slice::Of(std::move(gathered)));
    }
    TS_RETURN_IF_ERROR(budget.ChargeItems(ranges.size()));
    std::vector<Value> results;
    for (const ItemRange& range : ranges) {
      {
        const Budget::Temporaries temporaries(budget);
        TS_RETURN_IF_ERROR(budget.CheckTime());
        const auto of_range = std::make_shared<const RowSet>(RowSet::Range(range.begin, range.end));
        std::vector<Term> args;
        for (const Slice& slice : items) args.emplace_back(Slice{slice.column, of_range});
        TS_ASSIGN_OR_RETURN(Term result, ApplyTerm(context, function_, args));
        TS_ASSIGN_OR_RETURN(results.emplace_back(), ToValue(std::move(result), budget));
      }
      if (!results.back().is_atom()) {
        TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(results.back())));
      }
    }
    return Value::List(std::move(results));
  }

 private:
  Term function_ = Value();
  std::vector<AnyColumn> columns_;
  std::string name_;
  std::optional<RangeKind> kind_;
};

// Makes a column of an aggregate's results by key; `order` has the left row of each result.
absl::StatusOr<Value> ColumnOfParts(std::vector<Value> parts, std::span<const uint32_t> order,
                                    Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(order.size(), sizeof(uint32_t)));
  ScratchVector<uint32_t> place(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  const Type type = parts.empty() ? Type::kList : parts.front().type();
  const bool vectors =
      IsFixedWidth(type) && std::ranges::all_of(parts, [&](const Value& p) { return p.is(type); });
  TS_RETURN_IF_ERROR(vectors ? budget.Charge(order.size(), 2 * WidthOf(type))
                             : budget.ChargeItems(order.size()));
  if (vectors) {
    ByteBuffer together;
    together.reserve(order.size() * WidthOf(type));
    for (const Value& part : parts) together.Append(part.elements());
    return TakeItems(Value::Vector(type, std::move(together)), place);
  }
  std::vector<Value> items(order.size());
  size_t at = 0;
  for (Value& part : parts) {
    for (size_t i = 0; i < part.count(); ++i) items[order[at++]] = ItemAt(part, i);
  }
  return Collapse(std::move(items));
}

absl::Status AddColumn(TableView& table, std::string name, Value column, size_t left_columns) {
  const auto own = table.names.begin() + static_cast<ptrdiff_t>(left_columns);
  const auto in_left = std::find(table.names.begin(), own, name);
  if (in_left != own) {
    const auto at = static_cast<size_t>(in_left - table.names.begin());
    if (at < table.key_columns) return TypeError("an aggregate in place of key {}", name);
    table.columns[at] = ViewColumn(std::move(column));
    return absl::OkStatus();
  }
  UniqueNames unique;
  for (const std::string& taken : table.names) unique.Next(taken);
  table.names.push_back(unique.Next(name));
  table.columns.emplace_back(std::move(column));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TableView> WindowJoin(Context& context, WindowStart start, const Value& windows,
                                     const Value& columns, const TableView& left,
                                     const TableView& right, std::span<const Value> aggregates) {
  Budget& budget = context.budget;
  TS_RETURN_IF_ERROR(CheckRows(left));
  TS_RETURN_IF_ERROR(CheckRows(right));
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(columns));
  TS_ASSIGN_OR_RETURN(const ColumnPairs pairs, PairColumns(names, left, right));
  const Type time_type = left.columns[pairs.left.back()].type();
  TS_RETURN_IF_ERROR(CheckTimeType(time_type));
  TS_ASSIGN_OR_RETURN(const WindowTimes wanted,
                      WindowsOf(windows, time_type, left.count(), budget));
  std::vector<WindowAggregate> each;
  for (const Value& spec : aggregates) {
    TS_ASSIGN_OR_RETURN(WindowAggregate aggregate, WindowAggregate::Make(spec, right, budget));
    each.push_back(std::move(aggregate));
  }
  TS_ASSIGN_OR_RETURN(const RowsByKey rows, RowsByKey::Make(pairs, left, right, budget));

  TS_RETURN_IF_ERROR(budget.Charge(left.count(), sizeof(uint32_t)));
  ScratchVector<uint32_t> order;  // The left rows, key by key.
  order.reserve(left.count());
  std::vector<std::vector<Value>> parts(each.size());
  ScratchVector<ItemRange> ranges;
  for (uint32_t key = 0; key < rows.keys(); ++key) {
    const std::span<const uint32_t> left_rows = rows.RemainingRows(key);
    if (left_rows.empty()) continue;
    TS_RETURN_IF_ERROR(budget.CheckTime());
    std::vector<Value> results;
    {
      const Budget::Temporaries temporaries(budget);
      TS_ASSIGN_OR_RETURN(const TimedRows timed, rows.RightRows(key, budget));
      TS_RETURN_IF_ERROR(budget.Charge(left_rows.size(), sizeof(ItemRange)));
      ranges.clear();
      for (const uint32_t row : left_rows) {
        ranges.push_back(RangeIn(timed.times, wanted.begins[row], wanted.ends[row], start));
      }
      for (const WindowAggregate& aggregate : each) {
        TS_ASSIGN_OR_RETURN(results.emplace_back(), aggregate.Of(context, timed.rows, ranges));
      }
    }
    order.insert(order.end(), left_rows.begin(), left_rows.end());
    for (size_t i = 0; i < each.size(); ++i) {
      TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(results[i])));
      parts[i].push_back(std::move(results[i]));
    }
  }

  // Without windows, finds the type.
  for (size_t i = 0; i < each.size() && left.count() == 0; ++i) {
    TS_ASSIGN_OR_RETURN(parts[i].emplace_back(), each[i].Of(context, {}, {}));
  }

  TableView result = left;
  result.stored = nullptr;
  result.rows = std::make_shared<const RowSet>(RowSet::Range(0, left.count()));
  for (ViewColumn& column : result.columns) {
    column = ViewColumn::AtRows(std::move(column), left.rows);
    TS_RETURN_IF_ERROR(column.Settle(budget));
  }
  for (size_t i = 0; i < each.size(); ++i) {
    TS_ASSIGN_OR_RETURN(Value column, ColumnOfParts(std::move(parts[i]), order, budget));
    TS_RETURN_IF_ERROR(AddColumn(result, each[i].name(), std::move(column), left.columns.size()));
  }
  return result;
}

}  // namespace tickstack::query
