#include "query/kernels/dictionary.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "query/columns/concatenate.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/table_view.h"
#include "query/kernels/keys.h"

namespace tickstack::query {
namespace {

bool IsSequenceValue(const Value& value) { return value.is_vector() || value.is_list(); }

// Numbers the keys of both sides together.
struct KeyNumbering {
  ScratchVector<uint32_t> x, y;
  uint32_t count = 0;
};

absl::StatusOr<std::vector<Slice>> ColumnsOfKeys(const Value& keys, Budget& budget) {
  std::vector<Slice> columns;
  if (!keys.is_table()) {
    columns.push_back(Slice::Of(keys));
    return columns;
  }
  TS_ASSIGN_OR_RETURN(const TableView view, ViewOf(keys));
  for (size_t i = 0; i < view.columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(Slice column, view.ColumnAt(i, budget));
    columns.push_back(std::move(column));
  }
  return columns;
}

absl::StatusOr<KeyNumbering> NumberByHash(const Value& x, const Value& y, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const std::vector<Slice> of_x, ColumnsOfKeys(x, budget));
  TS_ASSIGN_OR_RETURN(const std::vector<Slice> of_y, ColumnsOfKeys(y, budget));
  if (of_x.size() != of_y.size() || of_x.empty()) {
    return LengthError("keys of {} and {} columns", of_x.size(), of_y.size());
  }
  KeyNumbers numbers(of_x.size());
  KeyNumbering numbering;
  TS_ASSIGN_OR_RETURN(numbering.x, numbers.Number(of_x, budget));
  TS_ASSIGN_OR_RETURN(numbering.y, numbers.Number(of_y, budget));
  numbering.count = numbers.size();
  return numbering;
}

absl::StatusOr<KeyNumbering> NumberByMatch(const Value& x, const Value& y, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.ChargeItems(x.count() + y.count()));
  KeyNumbering numbering;
  std::vector<Value> known;
  const auto number = [&](const Value& keys, ScratchVector<uint32_t>& numbers) -> absl::Status {
    for (size_t i = 0; i < keys.count(); ++i) {
      TS_RETURN_IF_ERROR(budget.CheckTime());
      Value key = ItemAt(keys, i);
      uint32_t at = 0;
      while (at < known.size() && !Match(known[at], key)) ++at;
      if (at == known.size()) known.push_back(std::move(key));
      numbers.push_back(at);
    }
    return absl::OkStatus();
  };
  TS_RETURN_IF_ERROR(number(x, numbering.x));
  TS_RETURN_IF_ERROR(number(y, numbering.y));
  numbering.count = static_cast<uint32_t>(known.size());
  return numbering;
}

// Returns items of x or y by position. Both have a type in common, or are lists.
absl::StatusOr<Value> PickItems(const Value& x, std::span<const uint32_t> in_x, const Value& y,
                                std::span<const uint32_t> in_y, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Value both, Join(x, y, budget));
  TS_RETURN_IF_ERROR(budget.Charge(in_x.size(), sizeof(uint32_t)));
  ScratchVector<uint32_t> at(in_x.size());
  const auto below = static_cast<uint32_t>(x.count());
  for (size_t i = 0; i < at.size(); ++i) at[i] = in_y[i] == kNoItem ? in_x[i] : below + in_y[i];
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(both)));
  return TakeItems(both, at);
}

// Returns rows of two tables of keys by position.
absl::StatusOr<Value> PickKeys(const Value& x, std::span<const uint32_t> in_x, const Value& y,
                               std::span<const uint32_t> in_y, Budget& budget) {
  if (!x.is_table()) return PickItems(x, in_x, y, in_y, budget);
  std::vector<Value> columns;
  for (size_t i = 0; i < x.columns().size(); ++i) {
    TS_ASSIGN_OR_RETURN(columns.emplace_back(),
                        PickItems(x.columns()[i], in_x, y.columns()[i], in_y, budget));
  }
  return Value::Table(x.column_names(), std::move(columns));
}

// Combines the vectors or lists x and y at positions.
absl::StatusOr<Value> CombineItems(const Value& x, const Value& y, const AlignedKeys& at,
                                   Unpaired unpaired, ItemwiseFunction f, Budget& budget) {
  const size_t n = at.in_x.size();
  if (x.is_vector() && y.is_vector()) {
    TS_RETURN_IF_ERROR(budget.Charge(2 * n, sizeof(Guid)));
    const Value left = TakeItems(x, at.in_x), right = TakeItems(y, at.in_y);
    TS_ASSIGN_OR_RETURN(Value combined, f(left, right));
    const bool paired = std::ranges::find(at.in_x, kNoItem) == at.in_x.end() &&
                        std::ranges::find(at.in_y, kNoItem) == at.in_y.end();
    if (paired || unpaired == Unpaired::kWithNull || !combined.is_vector()) return combined;
    const bool one_type =
        unpaired == Unpaired::kKept && combined.type() == x.type() && combined.type() == y.type();
    if (one_type && !combined.is(Type::kSymbol)) {
      const size_t width = WidthOf(combined.type());
      std::byte* const out = MutableElements(combined).data();
      for (size_t i = 0; i < n; ++i) {
        if (at.in_x[i] != kNoItem && at.in_y[i] != kNoItem) continue;
        const Value& from = at.in_y[i] == kNoItem ? left : right;
        std::memcpy(out + i * width, from.elements().data() + i * width, width);
      }
      return combined;
    }
  }
  TS_RETURN_IF_ERROR(budget.ChargeItems(n));
  std::vector<Value> items;
  for (size_t i = 0; i < n; ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const bool has_x = at.in_x[i] != kNoItem, has_y = at.in_y[i] != kNoItem;
    if (unpaired == Unpaired::kKept && !(has_x && has_y)) {
      items.push_back(has_x ? ItemAt(x, at.in_x[i]) : ItemAt(y, at.in_y[i]));
      continue;
    }
    const auto item_of = [&](const Value& list, uint32_t position) {
      if (position != kNoItem) return ItemAt(list, position);
      if (unpaired == Unpaired::kWithZero) return Value::Boolean(false);
      const bool typed = list.is_list() && list.count() > 0 && list.items().front().is_atom();
      return NullOf(typed ? list.items().front().type() : list.type());
    };
    TS_ASSIGN_OR_RETURN(items.emplace_back(), f(item_of(x, at.in_x[i]), item_of(y, at.in_y[i])));
  }
  return Collapse(std::move(items));
}

// Combines the columns of two tables of values at positions; a column of one side is null where
// that side has no row.
absl::StatusOr<Value> CombineColumns(const Value& x, const Value& y, const AlignedKeys& at,
                                     Unpaired unpaired, ItemwiseFunction f, Budget& budget) {
  SymbolVector names = x.column_names();
  std::vector<Value> columns;
  for (size_t i = 0; i < x.columns().size(); ++i) {
    const Value* const other = y.FindColumn(x.column_names()[i]);
    TS_RETURN_IF_ERROR(budget.Charge(at.in_x.size(), sizeof(Guid)));
    if (other == nullptr) {
      columns.push_back(TakeItems(x.columns()[i], at.in_x));
      continue;
    }
    TS_ASSIGN_OR_RETURN(columns.emplace_back(),
                        CombineItems(x.columns()[i], *other, at, unpaired, f, budget));
  }
  for (size_t i = 0; i < y.columns().size(); ++i) {
    if (x.FindColumn(y.column_names()[i]) != nullptr) continue;
    TS_RETURN_IF_ERROR(budget.Charge(at.in_y.size(), sizeof(Guid)));
    names.push_back(y.column_names()[i]);
    columns.push_back(TakeItems(y.columns()[i], at.in_y));
    if (unpaired == Unpaired::kWithZero) {
      TS_ASSIGN_OR_RETURN(columns.back(), f(Value::Boolean(false), columns.back()));
    }
  }
  return Value::Table(std::move(names), std::move(columns));
}

}  // namespace

namespace {

// Returns whether the items of a dictionary are the rows of a table.
bool HasRowsAsItems(const Value& value) {
  return value.is_dict() && !value.keys().is_table() && value.values().is_table();
}

// Returns the dictionary with a list of its rows in place of the table, so that they can be mixed
// with other items.
absl::StatusOr<Value> WithItems(const Value& dict, Budget& budget) {
  if (!HasRowsAsItems(dict)) return dict;
  const Value& table = dict.values();
  TS_RETURN_IF_ERROR(CheckTable(table));
  TS_RETURN_IF_ERROR(budget.ChargeItems(table.count() * (table.columns().size() + 2)));
  std::vector<Value> rows;
  for (size_t i = 0; i < table.count(); ++i) {
    std::vector<Value> items;
    for (const Value& column : table.columns()) items.push_back(ItemAt(column, i));
    rows.push_back(Value::Dict(Value::Symbols(table.column_names()), Collapse(std::move(items))));
  }
  return Value::Dict(dict.keys(), Value::List(std::move(rows)));
}

}  // namespace

bool IsPlainDict(const Value& value) {
  return value.is_dict() && IsSequenceValue(value.keys()) && IsSequenceValue(value.values()) &&
         value.keys().count() == value.values().count();
}

absl::StatusOr<AlignedKeys> AlignKeys(const Value& x, const Value& y, Budget& budget) {
  if (x.count() + y.count() >= kNoItem) return LimitError("{} keys", x.count() + y.count());
  if (x.is_table() != y.is_table()) return TypeError("a table's rows among other keys");
  const bool hashed = x.is_table() || (x.is_vector() && x.type() == y.type());
  TS_ASSIGN_OR_RETURN(const KeyNumbering numbers,
                      hashed ? NumberByHash(x, y, budget) : NumberByMatch(x, y, budget));
  TS_RETURN_IF_ERROR(budget.Charge(numbers.count, 2 * sizeof(uint32_t)));
  AlignedKeys aligned{Value(), ScratchVector<uint32_t>(numbers.count, kNoItem),
                      ScratchVector<uint32_t>(numbers.count, kNoItem)};
  for (size_t i = numbers.x.size(); i > 0; --i) {
    aligned.in_x[numbers.x[i - 1]] = static_cast<uint32_t>(i - 1);
  }
  for (size_t i = numbers.y.size(); i > 0; --i) {
    aligned.in_y[numbers.y[i - 1]] = static_cast<uint32_t>(i - 1);
  }
  TS_ASSIGN_OR_RETURN(aligned.keys, PickKeys(x, aligned.in_x, y, aligned.in_y, budget));
  return aligned;
}

absl::StatusOr<Value> JoinDicts(const Value& x, const Value& y, Budget& budget) {
  if (HasRowsAsItems(x) || HasRowsAsItems(y)) {
    TS_ASSIGN_OR_RETURN(const Value left, WithItems(x, budget));
    TS_ASSIGN_OR_RETURN(const Value right, WithItems(y, budget));
    return JoinDicts(left, right, budget);
  }
  if (!IsPlainDict(x) || !IsPlainDict(y)) return TypeError("a join with what is no dictionary");
  if (x.count() == 0) return y;
  if (y.count() == 0) return x;
  TS_ASSIGN_OR_RETURN(AlignedKeys keys, AlignKeys(x.keys(), y.keys(), budget));
  TS_ASSIGN_OR_RETURN(Value values,
                      PickItems(x.values(), keys.in_x, y.values(), keys.in_y, budget));
  return Value::Dict(std::move(keys.keys), std::move(values));
}

absl::StatusOr<Value> CombineDicts(const Value& x, const Value& y, Unpaired unpaired,
                                   ItemwiseFunction f, Budget& budget) {
  const bool tables = x.is_keyed_table() && y.is_keyed_table();
  if (!tables && !(IsPlainDict(x) && IsPlainDict(y))) {
    return TypeError("dictionaries whose entries do not go together");
  }
  if (tables) {  // Checks them, because tables off the wire may be anything.
    TS_RETURN_IF_ERROR(CheckTable(x));
    TS_RETURN_IF_ERROR(CheckTable(y));
  }
  TS_ASSIGN_OR_RETURN(AlignedKeys keys, AlignKeys(x.keys(), y.keys(), budget));
  TS_ASSIGN_OR_RETURN(Value values,
                      tables ? CombineColumns(x.values(), y.values(), keys, unpaired, f, budget)
                             : CombineItems(x.values(), y.values(), keys, unpaired, f, budget));
  return Value::Pair(Type::kDict, Attribute::kNone, std::move(keys.keys), std::move(values));
}

absl::StatusOr<Value> CombineTables(const Value& x, const Value& y, ItemwiseFunction f,
                                    Budget& budget) {
  TS_RETURN_IF_ERROR(CheckTable(x));
  TS_RETURN_IF_ERROR(CheckTable(y));
  if (x.count() != y.count()) return LengthError("{} rows and {}", x.count(), y.count());
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(x) + ApproximateBytes(y)));
  SymbolVector names = x.column_names();
  std::vector<Value> columns = x.columns();
  for (size_t i = 0; i < y.columns().size(); ++i) {
    const std::string_view name = y.column_names()[i];
    size_t at = 0;
    while (at < names.size() && names[at] != name) ++at;
    if (at == names.size()) {
      names.push_back(name);
      columns.push_back(y.columns()[i]);
      continue;
    }
    TS_ASSIGN_OR_RETURN(columns[at], f(columns[at], y.columns()[i]));
  }
  return Value::Table(std::move(names), std::move(columns));
}

}  // namespace tickstack::query
