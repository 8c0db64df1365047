// Functions that make, join and cut lists; `#` and `_` also take entries, rows and columns.

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "query/columns/concatenate.h"
#include "query/columns/gather.h"
#include "query/joins/stacked_tables.h"
#include "query/joins/upsert.h"
#include "query/kernels/attributes.h"
#include "query/kernels/dictionary.h"
#include "query/kernels/reshape.h"
#include "query/kernels/sets.h"
#include "query/kernels/sort.h"
#include "query/language/builtins.h"
#include "query/language/cuts.h"
#include "query/language/indexing.h"
#include "query/language/item_selection.h"

namespace tickstack::query::builtins {
namespace {

// Returns the count of a list, dictionary or table.
absl::StatusOr<size_t> CountOfMany(Context& context, std::string_view name, const Term& term) {
  TS_ASSIGN_OR_RETURN(const std::optional<size_t> count, CountOfItems(context, term));
  if (!count.has_value()) return TypeError("{} of an atom", name);
  if (*count >= kNoItem) return LimitError("{} items, at most {}", *count, kNoItem - 1);
  return *count;
}

// Returns begin, begin+1... up to `count` positions; after the last one come the first ones again.
absl::StatusOr<Positions> PositionsFrom(size_t begin, size_t count, size_t end, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(count, sizeof(uint32_t)));
  Positions positions(count);
  for (size_t i = 0; i < count; ++i) {
    positions[i] = static_cast<uint32_t>(begin + i < end ? begin + i : begin + i - end);
  }
  return positions;
}

Result Til(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value n, Take(context, args[0]));
  const std::optional<int64_t> whole = IndexOf(n);
  if (!whole.has_value()) return TypeError("til of a {}", NameOf(n.type()));
  const int64_t count = *whole;
  if (count < 0) return DomainError("til {}", count);
  TS_RETURN_IF_ERROR(context.budget.Charge(static_cast<size_t>(count), sizeof(int64_t)));
  VectorWriter<int64_t> out(Type::kLong, static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) out.data()[i] = i;
  return std::move(out).Finish();
}

Result Reverse(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const std::optional<size_t> count, CountOfItems(context, args[0]));
  if (!count.has_value()) return std::move(args[0]);  // An atom is its own reverse.
  TS_RETURN_IF_ERROR(context.budget.Charge(*count, sizeof(uint32_t)));
  Positions positions(*count);
  std::iota(positions.rbegin(), positions.rend(), 0u);
  return ItemsAt(context, std::move(args[0]), std::move(positions));
}

Result Rotate(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const int64_t by, WholeArgument(context, "rotate", args[0]));
  TS_ASSIGN_OR_RETURN(const size_t count, CountOfMany(context, "rotate", args[1]));
  if (count == 0) return std::move(args[1]);
  const int64_t rest = by % static_cast<int64_t>(count);
  const auto begin = static_cast<size_t>(rest < 0 ? rest + static_cast<int64_t>(count) : rest);
  TS_ASSIGN_OR_RETURN(Positions positions, PositionsFrom(begin, count, count, context.budget));
  return ItemsAt(context, std::move(args[1]), std::move(positions));
}

// Takes n items from one end, or (begin; n); never more than there are.
Result Sublist(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(const size_t count, CountOfMany(context, "sublist", args[1]));
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < x.count() && i <= 2 && (x.is_atom() || x.is_vector()); ++i) {
    const std::optional<int64_t> number = IndexOf(x.is_atom() ? x : ItemAt(x, i));
    if (!number.has_value()) return TypeError("sublist by {}s", NameOf(x.type()));
    if (*number == kNullLong) return DomainError("sublist by a null");
    numbers.push_back(*number);
  }
  if (numbers.empty()) return TypeError("sublist by a {}", NameOf(x.type()));
  if (numbers.size() > 2 || (numbers.size() == 1 && !x.is_atom())) {
    return LengthError("sublist by {} numbers", x.count());
  }
  const auto n = static_cast<__int128>(count);
  __int128 begin = 0, end = numbers.back();
  if (numbers.size() == 2) {
    begin = numbers[0];
    end += begin;
  } else if (numbers[0] < 0) {
    begin = n + numbers[0];
    end = n;
  }
  begin = std::clamp<__int128>(begin, 0, n);
  end = std::clamp<__int128>(end, begin, n);
  TS_ASSIGN_OR_RETURN(Positions positions,
                      PositionsFrom(static_cast<size_t>(begin), static_cast<size_t>(end - begin),
                                    count, context.budget));
  return ItemsAt(context, std::move(args[1]), std::move(positions));
}

// x cut y: y in pieces of x items; if x is several numbers, as x _ y.
Result Cut(Context& context, Args args) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (!x.is_atom()) return CutAt(context, x, std::move(args[1]));
  Term width = x;
  TS_ASSIGN_OR_RETURN(const int64_t items, WholeArgument(context, "cut", width));
  if (items < 1) return DomainError("pieces of {} items", items);
  TS_ASSIGN_OR_RETURN(const size_t count, CountOfMany(context, "cut", args[1]));
  const size_t pieces =
      count / static_cast<size_t>(items) + (count % static_cast<size_t>(items) != 0 ? 1 : 0);
  TS_RETURN_IF_ERROR(budget.Charge(pieces, sizeof(int64_t)));
  VectorWriter<int64_t> begins(Type::kLong, pieces);
  for (size_t i = 0; i < pieces; ++i) begins.data()[i] = static_cast<int64_t>(i) * items;
  return CutAt(context, std::move(begins).Finish(), std::move(args[1]));
}

Result Cross(Context& context, Args args) {
  if (IsTableTerm(args[0]) && IsTableTerm(args[1])) {
    TS_ASSIGN_OR_RETURN(const TableView y, ToView(context, std::move(args[1])));
    TS_ASSIGN_OR_RETURN(const TableView x, ToView(context, std::move(args[0])));
    TS_ASSIGN_OR_RETURN(TableView pairs, CrossRows(x, y, context.budget));
    return pairs;
  }
  const auto list = [&](Term& term) -> absl::StatusOr<Value> {
    TS_ASSIGN_OR_RETURN(Value value, Take(context, term));
    if (value.is_atom()) return Enlist(std::move(value));
    if (value.is_vector() || value.is_list()) return value;
    return NyiError(fmt::format("cross of a {}", NameOf(value.type())));
  };
  TS_ASSIGN_OR_RETURN(const Value y, list(args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, list(args[0]));
  return FromValue(CrossItems(x, y, context.budget));
}

// Returns a whole number that is not null; nullopt for anything else.
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

// A range of `count` items to take.
struct Part {
  size_t skip;
  size_t take;
};
Part PartTaken(int64_t n, size_t count) { return {n < 0 ? count - Magnitude(n) : 0, Magnitude(n)}; }
Part PartLeft(int64_t n, size_t count) {
  const size_t dropped = std::min(count, Magnitude(n));
  return {n < 0 ? 0 : dropped, count - dropped};
}

// Takes n items; if there are fewer, goes on at the other end.
absl::StatusOr<ScratchVector<uint32_t>> Circular(int64_t n, size_t count, Budget& budget) {
  const size_t wanted = Magnitude(n);
  if (wanted >= kNoItem) return LimitError("{} items, at most {}", wanted, kNoItem - 1);
  TS_RETURN_IF_ERROR(budget.Charge(wanted, sizeof(uint32_t)));
  ScratchVector<uint32_t> positions(wanted, kNoItem);  // Taking from nothing gives nulls.
  if (count == 0) return positions;
  const size_t first = n < 0 ? count - wanted % count : 0;
  for (size_t i = 0; i < wanted; ++i) positions[i] = static_cast<uint32_t>((first + i) % count);
  return positions;
}

std::shared_ptr<const RowSet> RowsOf(const RowSet& rows, Part part) {
  return std::make_shared<const RowSet>(rows.Slice(part.skip, part.take));
}

// Makes a vector of items if their types permit: a part of a list may be a vector even if the list
// is not.
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

// Returns items of a vector or list, or rows of a table.
Value ItemsOrRows(const Value& from, std::span<const uint32_t> positions) {
  if (!from.is_table()) return TakeItems(from, positions);
  std::vector<Value> columns;
  for (const Value& column : from.columns()) columns.push_back(TakeItems(column, positions));
  return Value::Table(from.column_names(), std::move(columns));
}

// Returns a dictionary's entries at the positions that `part` names.
Result EntriesOf(const Value& dict, Part part, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(dict)));
  ScratchVector<uint32_t> positions;
  for (size_t i = 0; i < part.take; ++i) positions.push_back(static_cast<uint32_t>(part.skip + i));
  return Value::Dict(TakeItems(dict.keys(), positions), ItemsOrRows(dict.values(), positions));
}

// Returns whether a value is a dictionary of items, or of the rows of a table.
bool IsEntries(const Value& value) {
  if (!value.is_dict() || !IsSequence(value.keys())) return false;
  const Value& values = value.values();
  if (values.is_table() && !CheckTable(values).ok()) return false;
  return (IsSequence(values) || values.is_table()) && value.keys().count() == values.count();
}

// If `kept`, returns the entries whose keys are in `keys`, with nulls for keys that are missing;
// otherwise the entries whose keys are not.
Result EntriesByKey(const Value& dict, const Value& keys, bool kept, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(dict)));
  const size_t n = keys.is_atom() ? 1 : keys.count();
  ScratchVector<uint32_t> positions;
  const auto matches = [&](size_t entry, size_t key) {
    return Match(ItemAt(dict.keys(), entry), keys.is_atom() ? keys : ItemAt(keys, key));
  };
  // Kept entries are in the order of `keys`, others in their own.
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
    return Value::Dict(keys.is_atom() ? Enlist(keys) : keys, ItemsOrRows(dict.values(), positions));
  }
  return Value::Dict(TakeItems(dict.keys(), positions), ItemsOrRows(dict.values(), positions));
}

Result ViewOfPart(TableView view, Part part) {
  view.rows = RowsOf(*view.rows, part);
  return view;
}

// Returns rows of nulls, with the columns of a table.
Result NullRows(int64_t n, const TableView& view, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> nowhere, Circular(n, 0, budget));
  std::vector<Value> columns;
  for (size_t i = 0; i < view.columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(const Slice column, view.ColumnAt(i, budget));
    TS_ASSIGN_OR_RETURN(const Value none, Materialise(column, budget));
    TS_RETURN_IF_ERROR(budget.Charge(nowhere.size(), sizeof(Guid)));
    columns.push_back(TakeItems(none, nowhere));
  }
  TableView rows = ViewOf(view.names, std::move(columns));
  rows.key_columns = view.key_columns;
  return rows;
}

Result TakeRows(int64_t n, TableView view, Budget& budget) {
  const size_t rows = view.count();  // Before the view is moved: arguments have no order.
  if (Magnitude(n) <= rows) return ViewOfPart(std::move(view), PartTaken(n, rows));
  if (rows == 0) return NullRows(n, view, budget);
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> positions, Circular(n, rows, budget));
  TS_ASSIGN_OR_RETURN(TableView taken, RowsInOrder(view, std::move(positions), budget));
  return taken;
}

// Returns the table with only these columns, in this order.
TableView WithColumns(const TableView& view, const std::vector<size_t>& columns) {
  TableView result;
  result.rows = view.rows;
  for (size_t column : columns) {
    result.names.push_back(view.names[column]);
    result.columns.push_back(view.columns[column]);
  }
  return result;
}

// Returns a table as a view; nullopt for anything else.
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
  if (view.has_value() && view->key_columns > 0 && x.is_table()) {  // The rows of these keys.
    TS_ASSIGN_OR_RETURN(Term rows, IndexTerm(context, *std::move(view), x));
    TS_ASSIGN_OR_RETURN(Value values, builtins::Take(context, rows));
    if (!values.is_table()) return TypeError("keys # a keyed table");
    return Value::KeyedTable(x, std::move(values));
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

// list _ n: the list without the item at n.
Result WithoutItem(const Value& list, int64_t n, Budget& budget) {
  if (n < 0 || static_cast<size_t>(n) >= list.count()) return list;
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(list)));
  ScratchVector<uint32_t> positions;
  for (uint32_t i = 0; i < list.count(); ++i) {
    if (i != n) positions.push_back(i);
  }
  return TakeItems(list, positions);
}

// Returns the rows of a keyed table whose keys are not among the rows of `keys`.
Result WithoutKeys(const Value& keys, const TableView& table, Budget& budget) {
  std::vector<size_t> key_columns(table.key_columns);
  std::iota(key_columns.begin(), key_columns.end(), size_t{0});
  TS_ASSIGN_OR_RETURN(const TableView dropped, ViewOf(keys));
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint8_t> flags,
                      AreRowsOf(WithColumns(table, key_columns), dropped, budget));
  TS_RETURN_IF_ERROR(budget.Charge(flags.size(), sizeof(uint32_t)));
  Positions positions;
  for (uint32_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == 0) positions.push_back(i);
  }
  return FromView(RowsInOrder(table, std::move(positions), budget));
}

// table _ n: the table without row n. keyed table _ row: without the row that has these keys.
Result WithoutRow(const Value& table, const Term& which, Budget& budget) {
  const auto* const y = std::get_if<Value>(&which);
  TS_ASSIGN_OR_RETURN(TableView view, ViewOf(table));
  if (y != nullptr && y->is_dict() && view.key_columns > 0) {
    TS_ASSIGN_OR_RETURN(TableView row, TableOfRow(*y));
    TS_ASSIGN_OR_RETURN(const Value keys, Release(std::move(row), budget));
    return WithoutKeys(keys, view, budget);
  }
  const std::optional<int64_t> n = y == nullptr ? std::nullopt : WholeNumber(*y);
  if (!n.has_value()) return TypeError("a table _ what is no row number");
  if (view.key_columns > 0) return NyiError("a keyed table _ a number");
  if (*n < 0 || static_cast<size_t>(*n) >= view.count()) return view;
  TS_RETURN_IF_ERROR(budget.Charge(view.count(), sizeof(uint32_t)));
  Positions positions;
  for (uint32_t i = 0; i < view.count(); ++i) {
    if (i != *n) positions.push_back(i);
  }
  return FromView(RowsInOrder(view, std::move(positions), budget));
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
    if (x.is_table() && view->key_columns > 0) return WithoutKeys(x, *view, budget);
    if (!x.is(Type::kSymbol)) return TypeError("{} _ a table", NameOf(x.type()));
    if (view->key_columns > 0) return NyiError("_ of columns of a keyed table");
    std::vector<size_t> left;  // A name that no column has drops nothing, as in q.
    for (size_t i = 0; i < view->columns.size(); ++i) {
      bool dropped = false;
      for (size_t j = 0; j < x.count() && !dropped; ++j) dropped = x.symbols()[j] == view->names[i];
      if (!dropped) left.push_back(i);
    }
    return WithColumns(*view, left);
  }
  if (IsTableValue(x)) return WithoutRow(x, args[1], budget);
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

// Joins a table with something; one of the two is a table.
Result JoinToTable(Context& context, Args args) {
  Budget& budget = context.budget;
  if (IsNothing(args[0])) return std::move(args[1]);
  if (IsNothing(args[1])) return std::move(args[0]);
  if (IsDictTerm(args[0])) {
    TS_ASSIGN_OR_RETURN(const TableView below, ToView(context, std::move(args[1])));
    TS_ASSIGN_OR_RETURN(const TableView row, TableOfRow(std::get<Value>(args[0])));
    if (below.key_columns > 0) return TypeError("a row and a keyed table");
    return FromView(StackTables(row, below, OneSided::kMismatch, budget));
  }
  if (!IsTableTerm(args[0])) return NyiError("a list , a table");
  TS_ASSIGN_OR_RETURN(const TableView table, ToView(context, std::move(args[0])));
  if (IsDictTerm(args[1])) {
    return FromView(Upsert(table, std::get<Value>(std::move(args[1])), budget));
  }
  if (!IsTableTerm(args[1])) return NyiError("a table , a list");
  TS_ASSIGN_OR_RETURN(TableView other, ToView(context, std::move(args[1])));
  if (table.key_columns == 0 && other.key_columns == 0) {
    return FromView(StackTables(table, other, OneSided::kMismatch, budget));
  }
  if (table.key_columns == 0) return TypeError("a keyed table below one without keys");
  if (other.key_columns == 0) {
    TS_ASSIGN_OR_RETURN(Value rows, Release(std::move(other), budget));
    return FromView(Upsert(table, std::move(rows), budget));
  }
  return FromView(MergeTables(table, other, OneSided::kMismatch, budget));
}

Result JoinTerm(Context& context, Args args) {
  if (IsTableTerm(args[0]) || IsTableTerm(args[1])) return JoinToTable(context, args);
  if (!IsDictTerm(args[0]) && !IsDictTerm(args[1])) return Binary<Join>(context, args);
  if (IsNothing(args[0])) return std::move(args[1]);
  if (IsNothing(args[1])) return std::move(args[0]);
  return Binary<JoinDicts>(context, args);
}

bool IsRowsOrEntries(const Value& value) { return value.is_table() || value.is_dict(); }

// Returns the rows of all tables as a list of dictionaries.
Result RowsOfTables(Context& context, const std::vector<TableView>& tables) {
  std::vector<Value> rows;
  for (const TableView& table : tables) {
    for (size_t i = 0; i < table.count(); ++i) {
      TS_ASSIGN_OR_RETURN(rows.emplace_back(), RowAt(table, i));
      TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(rows.back())));
      TS_RETURN_IF_ERROR(context.budget.CheckTime());
    }
  }
  return Collapse(std::move(rows));
}

// Razes a list that has tables or dictionaries among its items. Tables whose columns differ become
// a list of their rows.
Result RazeRows(Context& context, const std::vector<Value>& parts) {
  std::vector<TableView> tables;
  for (const Value& part : parts) {
    if (!part.is_table()) break;
    TS_ASSIGN_OR_RETURN(tables.emplace_back(), ViewOf(part));
  }
  if (tables.size() == parts.size()) {
    absl::StatusOr<TableView> stacked = StackAll(tables, context.budget);
    const bool differ = !stacked.ok() && QErrorText(stacked.status()) == "mismatch";
    return differ ? RowsOfTables(context, tables) : FromView(std::move(stacked));
  }
  Term joined = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    Term pair[] = {std::move(joined), parts[i]};
    TS_RETURN_IF_ERROR(context.budget.CheckTime());
    TS_ASSIGN_OR_RETURN(joined, JoinTerm(context, pair));
  }
  return joined;
}

Result RazeTerm(Context& context, Args args) {
  if (IsTableTerm(args[0])) return std::move(args[0]);  // Its rows are joined already.
  TS_ASSIGN_OR_RETURN(Value x, Take(context, args[0]));
  if (x.is_list() && std::ranges::any_of(x.items(), IsRowsOrEntries)) {
    return RazeRows(context, x.items());
  }
  if (x.is_dict() && x.values().is_list() &&
      std::ranges::any_of(x.values().items(), IsRowsOrEntries)) {
    return RazeRows(context, x.values().items());
  }
  if (x.is_atom()) return Enlist(std::move(x));
  if (x.is_function()) return Value::List({std::move(x)});
  return FromValue(Raze(std::move(x), context.budget));
}

// Makes a list of the arguments. A single dictionary whose keys are names becomes a table of one
// row.
Result EnlistTerm(Context& context, Args args) {
  std::vector<Value> items;
  for (Term& arg : args) {
    TS_ASSIGN_OR_RETURN(Value item, Take(context, arg));
    items.push_back(std::move(item));
  }
  const bool row = items.size() == 1 && IsPlainDict(items[0]) &&
                   items[0].keys().is(Type::kSymbol) && items[0].count() > 0;
  if (row) {
    TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(items[0])));
    return FromView(TableOfRow(items[0]));
  }
  return Collapse(std::move(items));
}

constexpr std::array kListTable = {
    With(Builtin::kPure, Builtin{"#", 2, 2, true, TakeTerm, true}),
    With(Builtin::kPure, Builtin{"_", 2, 2, true, DropTerm, true}),
    With(Builtin::kPure, Builtin{",", 2, 2, true, JoinTerm, true}),
    Builtin{"til", 1, 1, false, Til},
    With(Builtin::kPure, Builtin{"enlist", 1, UINT16_MAX, false, EnlistTerm}),
    Builtin{"raze", 1, 1, false, RazeTerm},
    Builtin{"reverse", 1, 1, false, Reverse},
    Builtin{"rotate", 2, 2, true, Rotate, true},
    Builtin{"sublist", 2, 2, true, Sublist, true},
    Builtin{"cut", 2, 2, true, Cut, true},
    Builtin{"cross", 2, 2, true, Cross, true},
};

}  // namespace

absl::StatusOr<int64_t> WholeArgument(Context& context, std::string_view name, Term& term) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, term));
  const std::optional<int64_t> number = x.is_atom() ? IndexOf(x) : std::nullopt;
  if (!number.has_value()) return TypeError("{} by a {}", name, NameOf(x.type()));
  if (*number == kNullLong) return DomainError("{} by a null", name);
  return *number;
}

std::span<const Builtin> ListFunctions() { return kListTable; }

}  // namespace tickstack::query::builtins
