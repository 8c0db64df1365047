// `#` and `_`: items, entries or rows from either end, or columns by name.

#include <algorithm>
#include <array>
#include <vector>

#include "query/columns/gather.h"
#include "query/kernels/attributes.h"
#include "query/kernels/reshape.h"
#include "query/kernels/sort.h"
#include "query/language/builtins.h"
#include "query/language/cuts.h"
#include "query/language/indexing.h"
#include "query/language/item_selection.h"

namespace tickstack::query::builtins {
namespace {

// A whole number that is no null; nullopt: something else.
std::optional<int64_t> WholeNumber(const Value& value) {
  if (value.is_atom_of(Type::kLong) && value.as<int64_t>() != kNullLong) return value.as<int64_t>();
  if (value.is_atom_of(Type::kInt) && value.as<int32_t>() != kNullInt) return value.as<int32_t>();
  if (value.is_atom_of(Type::kShort) && value.as<int16_t>() != kNullShort) {
    return value.as<int16_t>();
  }
  return std::nullopt;
}

size_t Magnitude(int64_t n) {
  return n < 0 ? size_t{0} - static_cast<size_t>(n) : static_cast<size_t>(n);
}

// Which of `count` items are taken.
struct Part {
  size_t skip;
  size_t take;
};
Part PartTaken(int64_t n, size_t count) { return {n < 0 ? count - Magnitude(n) : 0, Magnitude(n)}; }
Part PartLeft(int64_t n, size_t count) {
  const size_t dropped = std::min(count, Magnitude(n));
  return {n < 0 ? 0 : dropped, count - dropped};
}

// More than there are: items again from the other end.
absl::StatusOr<ScratchVector<uint32_t>> Circular(int64_t n, size_t count, Budget& budget) {
  const size_t wanted = Magnitude(n);
  if (wanted >= kNoItem) return LimitError("{} items, at most {}", wanted, kNoItem - 1);
  TS_RETURN_IF_ERROR(budget.Charge(wanted, sizeof(uint32_t)));
  ScratchVector<uint32_t> positions(wanted, kNoItem);  // Of nothing, nulls.
  if (count == 0) return positions;
  const size_t first = n < 0 ? count - wanted % count : 0;
  for (size_t i = 0; i < wanted; ++i) positions[i] = static_cast<uint32_t>((first + i) % count);
  return positions;
}

std::shared_ptr<const RowSet> RowsOf(const RowSet& rows, Part part) {
  return std::make_shared<const RowSet>(rows.Slice(part.skip, part.take));
}

// A part of a list may be a vector where the list is none.
absl::StatusOr<Value> Settled(absl::StatusOr<Value> items) {
  if (!items.ok() || !items->is_list()) return items;
  return Collapse(std::move(items->mutable_items()));
}

absl::StatusOr<Value> TakeFrom(int64_t n, const Slice& slice, Budget& budget) {
  const size_t count = slice.count();
  if (Magnitude(n) <= count) {
    return Materialise(Slice{slice.column, RowsOf(*slice.rows, PartTaken(n, count))}, budget);
  }
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> positions, Circular(n, count, budget));
  if (count == 0) return GatherRows(slice.column, positions, budget);
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> rows,
                      RowsAt(*slice.rows, std::move(positions), budget));
  return GatherRows(slice.column, rows, budget);
}

// A dictionary's entries at those positions that `part` names.
Result EntriesOf(const Value& dict, Part part, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(dict)));
  ScratchVector<uint32_t> positions;
  for (size_t i = 0; i < part.take; ++i) positions.push_back(static_cast<uint32_t>(part.skip + i));
  return Value::Dict(TakeItems(dict.keys(), positions), TakeItems(dict.values(), positions));
}

bool IsEntries(const Value& value) {
  return value.is_dict() && IsSequence(value.keys()) && IsSequence(value.values()) &&
         value.keys().count() == value.values().count();
}

// The entries of a dictionary whose keys are among `keys`, with nulls for those that it does not
// have; or the entries whose keys are not.
Result EntriesByKey(const Value& dict, const Value& keys, bool kept, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(dict)));
  const size_t n = keys.is_atom() ? 1 : keys.count();
  ScratchVector<uint32_t> positions;
  const auto matches = [&](size_t entry, size_t key) {
    return Match(ItemAt(dict.keys(), entry), keys.is_atom() ? keys : ItemAt(keys, key));
  };
  // Kept ones in the order of `keys`, the others in their own.
  for (size_t i = 0; i < (kept ? n : dict.keys().count()); ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    bool found = false;
    for (size_t j = 0; j < (kept ? dict.keys().count() : n) && !found; ++j) {
      found = kept ? matches(j, i) : matches(i, j);
      if (found && kept) positions.push_back(static_cast<uint32_t>(j));
    }
    if (!found) positions.push_back(kept ? kNoItem : static_cast<uint32_t>(i));
  }
  if (kept) {
    return Value::Dict(keys.is_atom() ? Enlist(keys) : keys, TakeItems(dict.values(), positions));
  }
  return Value::Dict(TakeItems(dict.keys(), positions), TakeItems(dict.values(), positions));
}

Result ViewOfPart(TableView view, Part part) {
  view.rows = RowsOf(*view.rows, part);
  return view;
}

Result TakeRows(int64_t n, TableView view, Budget& budget) {
  if (Magnitude(n) <= view.count()) return ViewOfPart(std::move(view), PartTaken(n, view.count()));
  if (view.count() == 0) return view;
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> positions, Circular(n, view.count(), budget));
  TS_ASSIGN_OR_RETURN(TableView taken, RowsInOrder(view, std::move(positions), budget));
  return taken;
}

// The table with only these columns, in this order.
TableView WithColumns(const TableView& view, const std::vector<size_t>& columns) {
  TableView result;
  result.rows = view.rows;
  for (size_t column : columns) {
    result.names.push_back(view.names[column]);
    result.columns.push_back(view.columns[column]);
  }
  return result;
}

// A table, a copied one as well; nullopt: something else.
absl::StatusOr<std::optional<TableView>> AsView(Context& context, Term& term) {
  auto* value = std::get_if<Value>(&term);
  const bool table =
      std::holds_alternative<TableView>(term) || (value != nullptr && IsTableValue(*value));
  if (!table) return std::nullopt;
  TS_ASSIGN_OR_RETURN(TableView view, ToView(context, std::move(term)));
  return view;
}

// Returns the sizes of a matrix: whole numbers and nulls.
absl::StatusOr<std::vector<int64_t>> SizesOf(const Value& x, Budget& budget) {
  const bool whole = x.is(Type::kLong) || x.is(Type::kInt) || x.is(Type::kShort);
  if (!whole) return TypeError("# by a {}", NameOf(x.type()));
  TS_RETURN_IF_ERROR(budget.Charge(x.count(), sizeof(int64_t)));
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < x.count(); ++i) sizes.push_back(*IndexOf(ItemAt(x, i)));
  return sizes;
}

Result TakeTerm(Context& context, Args args) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(const Value x, builtins::Take(context, args[0]));
  const std::optional<int64_t> n = WholeNumber(x);
  if (x.is_atom_of(Type::kSymbol)) {
    if (const std::optional<Attribute> attribute = AttributeOfLetter(x.symbol())) {
      TS_ASSIGN_OR_RETURN(Value y, builtins::Take(context, args[1]));
      return FromValue(WithAttribute(*attribute, std::move(y), budget));
    }
  }
  TS_ASSIGN_OR_RETURN(std::optional<TableView> view, AsView(context, args[1]));
  if (view.has_value() && n.has_value()) return TakeRows(*n, *std::move(view), budget);
  if (view.has_value() && x.type() == Type::kSymbol) {
    if (view->key_columns > 0) return NyiError("# of columns of a keyed table");
    TS_ASSIGN_OR_RETURN(const std::vector<size_t> columns, ColumnsNamed(*view, x));
    return WithColumns(*view, columns);
  }
  if (view.has_value()) args[1] = *std::move(view);
  if (const auto* slice = std::get_if<Slice>(&args[1]); slice != nullptr && n.has_value()) {
    return FromValue(Settled(TakeFrom(*n, *slice, budget)));
  }
  TS_ASSIGN_OR_RETURN(const Value y, builtins::Take(context, args[1]));
  if (IsEntries(y) && n.has_value()) {
    if (Magnitude(*n) > y.count()) return NyiError("# of more entries than there are");
    return EntriesOf(y, PartTaken(*n, y.count()), budget);
  }
  if (IsEntries(y) && (x.is_atom() || IsSequence(x))) return EntriesByKey(y, x, true, budget);
  const bool reshapes_table = y.is_table() && !n.has_value();
  if (!y.is_atom() && !IsSequence(y) && !reshapes_table) {
    return TypeError("# of a {}", NameOf(y.type()));
  }
  if (!n.has_value()) {
    TS_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, SizesOf(x, budget));
    return FromValue(Reshape(sizes, y.is_atom() ? Enlist(y) : y, budget));
  }
  return FromValue(Settled(TakeFrom(*n, Slice::Of(y.is_atom() ? Enlist(y) : y), budget)));
}

// list _ n: without the item at n.
Result WithoutItem(const Value& list, int64_t n, Budget& budget) {
  if (n < 0 || static_cast<size_t>(n) >= list.count()) return list;
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(list)));
  ScratchVector<uint32_t> positions;
  for (uint32_t i = 0; i < list.count(); ++i) {
    if (i != n) positions.push_back(i);
  }
  return TakeItems(list, positions);
}

Result DropTerm(Context& context, Args args) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(const Value x, builtins::Take(context, args[0]));
  const std::optional<int64_t> n = WholeNumber(x);
  if (!n.has_value() && IsSequence(x) && !x.is(Type::kSymbol)) {
    const auto* y = std::get_if<Value>(&args[1]);
    const bool one = y != nullptr && (y->is_atom() || y->is_dict());  // list _ n, keys _ entries
    if (!one || IsTableTerm(args[1])) return CutAt(context, x, std::move(args[1]));
  }
  TS_ASSIGN_OR_RETURN(std::optional<TableView> view, AsView(context, args[1]));
  if (view.has_value()) {
    if (n.has_value()) return ViewOfPart(*view, PartLeft(*n, view->count()));
    if (!x.is(Type::kSymbol)) return TypeError("{} _ a table", NameOf(x.type()));
    if (view->key_columns > 0) return NyiError("_ of columns of a keyed table");
    TS_ASSIGN_OR_RETURN(const std::vector<size_t> dropped, ColumnsNamed(*view, x));
    std::vector<size_t> left;
    for (size_t i = 0; i < view->columns.size(); ++i) {
      if (std::ranges::find(dropped, i) == dropped.end()) left.push_back(i);
    }
    return WithColumns(*view, left);
  }
  if (const auto* slice = std::get_if<Slice>(&args[1]); slice != nullptr && n.has_value()) {
    const Part left = PartLeft(*n, slice->count());
    return Slice{slice->column, RowsOf(*slice->rows, left)};
  }
  TS_ASSIGN_OR_RETURN(const Value y, builtins::Take(context, args[1]));
  if (IsEntries(y) && n.has_value()) return EntriesOf(y, PartLeft(*n, y.count()), budget);
  if (IsEntries(y) && (x.is_atom() || IsSequence(x))) return EntriesByKey(y, x, false, budget);
  if (IsEntries(x) && y.is_atom()) return EntriesByKey(x, y, false, budget);
  if (IsSequence(x) && WholeNumber(y).has_value()) return WithoutItem(x, *WholeNumber(y), budget);
  if (!n.has_value()) return TypeError("_ by a {}", NameOf(x.type()));
  if (!IsSequence(y)) return TypeError("_ of a {}", NameOf(y.type()));
  const Slice all = Slice::Of(y);
  const Slice left{all.column, RowsOf(*all.rows, PartLeft(*n, all.count()))};
  return FromValue(Settled(Materialise(left, budget)));
}

constexpr std::array kTakeTable = {
    Builtin{"#", 2, 2, true, TakeTerm},
    Builtin{"_", 2, 2, true, DropTerm},
};

}  // namespace

std::span<const Builtin> Takes() { return kTakeTable; }

}  // namespace tickstack::query::builtins
