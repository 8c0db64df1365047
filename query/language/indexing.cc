#include "query/language/indexing.h"

#include <algorithm>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/bins.h"
#include "query/kernels/find_rows.h"
#include "query/kernels/search.h"
#include "query/language/functions.h"
#include "query/language/item_terms.h"

namespace tickstack::query {

std::optional<int64_t> IndexOf(const Value& atom) {
  if (!atom.is_atom()) return std::nullopt;
  const Type type = atom.type();
  if (type == Type::kLong) return atom.as<int64_t>();
  if (type == Type::kInt) return atom.as<int32_t>() == kNullInt ? kNullLong : atom.as<int32_t>();
  if (type == Type::kShort) {
    return atom.as<int16_t>() == kNullShort ? kNullLong : atom.as<int16_t>();
  }
  if (type == Type::kBoolean || type == Type::kByte) return atom.as<uint8_t>();
  return std::nullopt;
}

absl::StatusOr<bool> IsTrue(const Value& flag) {
  const std::optional<int64_t> number = flag.is_atom() ? IndexOf(flag) : std::nullopt;
  if (!number.has_value()) return TypeError("a test of {}", NameOf(flag.type()));
  return *number != 0;
}

namespace {

// Returns the positions for an index; kNoItem where it is out of range.
absl::StatusOr<ScratchVector<uint32_t>> PositionsOf(const Value& index, size_t count) {
  ScratchVector<uint32_t> positions;
  const size_t n = index.count();
  positions.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    const Value atom = index.is_atom() ? index : ItemAt(index, i);
    const std::optional<int64_t> at = atom.is_atom() ? IndexOf(atom) : std::optional<int64_t>();
    if (!at.has_value()) return TypeError("an index of {}", NameOf(index.type()));
    const bool inside = *at >= 0 && static_cast<uint64_t>(*at) < count;
    positions.push_back(inside ? static_cast<uint32_t>(*at) : kNoItem);
  }
  return positions;
}

// Charges for taking items at `n` positions: the positions, and elements or items.
absl::Status ChargeTaking(const Value& list, size_t n, Budget& budget) {
  if (list.is_list()) return budget.ChargeItems(n);
  return budget.Charge(n, sizeof(uint32_t) + sizeof(Guid));
}

// Returns the item for an index out of range: a null of the items' type; for a list, of its first
// item's.
absl::StatusOr<Term> NullItemOf(const Slice& items) {
  if (items.type() != Type::kList || items.count() == 0) return Term(NullOf(items.type()));
  TS_ASSIGN_OR_RETURN(Value first, items.At(0));
  constexpr uint32_t kOutside[] = {kNoItem};
  return Term(ItemAt(TakeItems(Value::List({std::move(first)}), kOutside), 0));
}

absl::StatusOr<Value> IndexList(const Value& list, const Value& index, Budget& budget, int depth) {
  if (depth > 100) return StackError("an index more than 100 deep");
  if (index.is_list() && index.count() == 0) return EmptyVector(list.type());
  if (index.is_list()) {
    TS_RETURN_IF_ERROR(budget.ChargeItems(index.count()));
    std::vector<Value> items;
    for (const Value& item : index.items()) {
      TS_ASSIGN_OR_RETURN(Value taken, IndexList(list, item, budget, depth + 1));
      items.push_back(std::move(taken));
    }
    return Collapse(std::move(items));
  }
  if (index.is_dict() && !index.keys().is_table() && !index.values().is_table()) {
    TS_ASSIGN_OR_RETURN(Value taken, IndexList(list, index.values(), budget, depth + 1));
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(index.keys())));
    return Value::Dict(index.keys(), std::move(taken));
  }
  if (!index.is_atom() && !index.is_vector()) return TypeError("an index that is no number");
  TS_RETURN_IF_ERROR(ChargeTaking(list, index.count(), budget));
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> positions, PositionsOf(index, list.count()));
  if (!index.is_atom()) return TakeItems(list, positions);
  const Value one = TakeItems(list, positions);
  return ItemAt(one, 0);
}

// Returns the position of an item among a dictionary's keys.
uint32_t FindKey(const Value& keys, const Value& item) {
  if (keys.is(Type::kSymbol) && item.is_atom_of(Type::kSymbol)) {
    const SymbolVector& names = keys.symbols();
    for (uint32_t i = 0; i < names.size(); ++i) {
      if (names[i] == item.symbol()) return i;
    }
    return kNoItem;
  }
  if (keys.is_vector() && item.is_atom_of(keys.type()) && !IsFloating(keys.type())) {
    return VisitElementType(keys.type(), [&]<typename T>(std::type_identity<T>) {
      const std::span<const T> elements = keys.span<T>();
      const auto found = std::ranges::find(elements, item.as<T>());
      return found == elements.end() ? kNoItem : static_cast<uint32_t>(found - elements.begin());
    });
  }
  for (uint32_t i = 0; i < keys.count(); ++i) {
    if (Match(ItemAt(keys, i), item)) return i;
  }
  return kNoItem;
}

absl::StatusOr<ScratchVector<uint32_t>> KeyRows(const TableView& view, size_t keys,
                                                const WantedRows& wanted, Budget& budget) {
  if (wanted.columns.size() != keys) {
    return LengthError("{} columns for {} of keys", wanted.columns.size(), keys);
  }
  return FindRows(view, wanted.columns, budget);
}

// Returns values of a dictionary whose keys are a table.
absl::StatusOr<Value> IndexByRows(const Value& dict, const Value& index, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const TableView keys, ViewOf(dict.keys()));
  TS_ASSIGN_OR_RETURN(const WantedRows wanted, WantedRowsOf(index, keys.columns.size(), budget));
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> rows,
                      KeyRows(keys, keys.columns.size(), wanted, budget));
  const Value taken = TakeItems(dict.values(), rows);
  return wanted.one ? ItemAt(taken, 0) : taken;
}

// The positions of an index among a dictionary's keys, or of its items.
struct KeyPositions {
  ScratchVector<uint32_t> at;
  bool one = false;
};

// Returns the result of `Find` or `LastAtMost` as positions.
KeyPositions PositionsIn(const Value& keys, const Value& found) {
  KeyPositions positions;
  positions.one = found.is_atom();
  positions.at.reserve(found.count());
  for (const int64_t at : found.span<int64_t>()) {
    const bool there = at >= 0 && static_cast<uint64_t>(at) < keys.count();
    positions.at.push_back(there ? static_cast<uint32_t>(at) : kNoItem);
  }
  return positions;
}

// Returns the positions of keys. In a step dictionary a key applies up to the next one.
absl::StatusOr<KeyPositions> PositionsOfKeys(const Value& dict, const Value& index,
                                             Budget& budget) {
  const Value& keys = dict.keys();
  if (!keys.is_vector() && !keys.is_list())
    return TypeError("a dictionary of {}", NameOf(keys.type()));
  const bool step = dict.type() == Type::kSortedDict;
  const bool alike = keys.is_vector() && IsAtomOrVector(index) && index.type() == keys.type();
  const bool searched = keys.is_vector() && IsAtomOrVector(index) && !IsFloating(keys.type());
  if (step && !alike) {
    return TypeError("a {} in a step dictionary of {}s", NameOf(index.type()), NameOf(keys.type()));
  }
  if ((alike && step) || (searched && (index.is_vector() || !alike))) {
    TS_RETURN_IF_ERROR(budget.Charge(index.count(), sizeof(int64_t) + sizeof(uint32_t)));
    TS_ASSIGN_OR_RETURN(const Value found,
                        step ? LastAtMost(keys, index, budget) : Find(keys, index, budget));
    return PositionsIn(keys, found);
  }
  KeyPositions found;
  found.one = IsItemOf(keys, index);
  for (size_t i = 0; i < (found.one ? 1 : index.count()); ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());  // Each is a search through all keys.
    found.at.push_back(FindKey(keys, found.one ? index : ItemAt(index, i)));
  }
  return found;
}

absl::StatusOr<Value> IndexDict(const Value& dict, const Value& index, Budget& budget);

// Indexes a dictionary by each item of the index, which is a key or a list of keys.
absl::StatusOr<Value> IndexDictByEach(const Value& dict, const Value& index, Budget& budget) {
  const Budget::Level level(budget);
  TS_RETURN_IF_ERROR(level.Check());
  TS_RETURN_IF_ERROR(budget.ChargeItems(index.count()));
  std::vector<Value> taken;
  for (size_t i = 0; i < index.count(); ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    TS_ASSIGN_OR_RETURN(taken.emplace_back(), IndexDict(dict, ItemAt(index, i), budget));
  }
  return Collapse(std::move(taken));
}

absl::StatusOr<Value> IndexDict(const Value& dict, const Value& index, Budget& budget) {
  const Value &keys = dict.keys(), &values = dict.values();
  if (!(values.is_vector() || values.is_list()) || values.count() != keys.count()) {
    return TypeError("a dictionary that is no pair of lists");
  }
  TS_RETURN_IF_ERROR(ChargeTaking(values, index.count(), budget));
  if (keys.is_table()) return IndexByRows(dict, index, budget);
  if (index.is_list() && !IsItemOf(keys, index)) return IndexDictByEach(dict, index, budget);
  TS_ASSIGN_OR_RETURN(const KeyPositions found, PositionsOfKeys(dict, index, budget));
  const Value taken = TakeItems(values, found.at);
  return found.one ? ItemAt(taken, 0) : taken;
}

// Returns rows of a table by number, kNoItem for missing ones.
absl::StatusOr<TableView> RowsOf(const TableView& view, size_t first_column,
                                 std::span<const uint32_t> positions, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(positions.size(), sizeof(uint32_t)));
  ScratchVector<uint32_t> rows(positions.begin(), positions.end());
  for (uint32_t& at : rows) {
    if (at != kNoItem) at = static_cast<uint32_t>(view.rows->At(at));
  }
  std::vector<Value> columns;
  std::vector<std::string> names;
  for (size_t i = first_column; i < view.columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(const AnyColumn whole, view.columns[i].Get(budget));
    TS_ASSIGN_OR_RETURN(columns.emplace_back(), GatherRows(whole, rows, budget));
    names.push_back(view.names[i]);
  }
  return ViewOf(std::move(names), std::move(columns));
}

// Indexes a keyed table by its keys: returns the row of values, or a table of them.
absl::StatusOr<Term> IndexKeyed(const TableView& view, const Value& index, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const WantedRows wanted, WantedRowsOf(index, view.key_columns, budget));
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> rows,
                      KeyRows(view, view.key_columns, wanted, budget));
  if (!wanted.one) return RowsOf(view, view.key_columns, rows, budget);
  TableView values;
  values.rows = view.rows;
  for (size_t i = view.key_columns; i < view.columns.size(); ++i) {
    values.names.push_back(view.names[i]);
    values.columns.push_back(view.columns[i]);
  }
  TS_ASSIGN_OR_RETURN(Value row, RowAt(values, rows[0]));
  return row;
}

// Indexes a table by column name or row number.
absl::StatusOr<Term> IndexView(Context& context, const TableView& view, const Value& index) {
  if (view.key_columns > 0) return IndexKeyed(view, index, context.budget);
  if (index.type() == Type::kSymbol) {
    const size_t n = index.count();
    std::vector<Value> columns;
    for (size_t i = 0; i < n; ++i) {
      const std::string_view name = index.is_atom() ? index.symbol() : index.symbols()[i];
      const int column = view.Find(name);
      if (column < 0) return NameError(name);
      TS_ASSIGN_OR_RETURN(Slice slice, view.ColumnAt(static_cast<size_t>(column), context.budget));
      if (index.is_atom()) return slice;
      TS_ASSIGN_OR_RETURN(Value copied, Materialise(slice, context.budget));
      columns.push_back(std::move(copied));
    }
    return Value::List(std::move(columns));
  }
  if (index.is_list()) {  // A table for each item.
    const Budget::Level level(context.budget);
    TS_RETURN_IF_ERROR(level.Check());
    TS_RETURN_IF_ERROR(context.budget.ChargeItems(index.count()));
    std::vector<Value> taken;
    for (const Value& item : index.items()) {
      TS_ASSIGN_OR_RETURN(Term part, IndexView(context, view, item));
      TS_ASSIGN_OR_RETURN(taken.emplace_back(), ToValue(std::move(part), context.budget));
    }
    if (taken.empty()) return RowsOf(view, 0, {}, context.budget);
    return CollectItems(std::move(taken), context.budget);
  }
  if (!index.is_atom() && !index.is_vector()) return TypeError("a row that is no number");
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> positions, PositionsOf(index, view.count()));
  if (index.is_atom()) {
    TS_ASSIGN_OR_RETURN(Value row, RowAt(view, positions[0]));
    return row;
  }
  return RowsOf(view, 0, positions, context.budget);
}

absl::StatusOr<Term> IndexAll(Context& context, Term x, std::span<const Value> rest);

// Takes the other indices in every item of what several indices of a level have taken.
absl::StatusOr<Term> IndexEvery(Context& context, Term taken, std::span<const Value> rest) {
  return rest.empty() ? std::move(taken) : IndexAll(context, std::move(taken), rest);
}

// Returns the items of several columns, a list for each row, indexed by the other indices.
absl::StatusOr<Term> IndexRowsByNames(Context& context, const TableView& view,
                                      std::span<const Value> indices) {
  Budget& budget = context.budget;
  TS_ASSIGN_OR_RETURN(Term named, IndexView(context, view, indices[0]));
  TS_ASSIGN_OR_RETURN(const Value columns, ToValue(std::move(named), budget));
  const size_t rows = view.count();
  std::vector<Value> taken;
  for (size_t row = 0; row < rows; ++row) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    TS_RETURN_IF_ERROR(budget.ChargeItems(columns.count() + 1));
    std::vector<Value> items;
    for (const Value& column : columns.items()) items.push_back(ItemAt(column, row));
    TS_ASSIGN_OR_RETURN(Term item,
                        IndexEvery(context, Term(Collapse(std::move(items))), indices.subspan(1)));
    TS_ASSIGN_OR_RETURN(taken.emplace_back(), ToValue(std::move(item), budget));
  }
  return CollectItems(std::move(taken), budget);
}

// x[::;j...]: takes all items of a level.
absl::StatusOr<Term> IndexAll(Context& context, Term x, std::span<const Value> rest) {
  const auto* const view = std::get_if<TableView>(&x);
  if (view != nullptr && view->key_columns == 0 && rest[0].type() == Type::kSymbol) {
    if (!rest[0].is_atom()) return IndexRowsByNames(context, *view, rest);
    // A column is that item of every row.
    TS_ASSIGN_OR_RETURN(Term column, IndexView(context, *view, rest[0]));
    return IndexEvery(context, std::move(column), rest.subspan(1));
  }
  TS_ASSIGN_OR_RETURN(const ItemTerms items, ItemTerms::Of(std::move(x), context.budget));
  if (items.is_atom()) return TypeError("an index of an atom");
  TS_RETURN_IF_ERROR(context.budget.ChargeItems(items.count()));
  std::vector<Value> taken;
  for (size_t i = 0; i < items.count(); ++i) {
    TS_RETURN_IF_ERROR(context.budget.CheckTime());
    TS_ASSIGN_OR_RETURN(Term item, items.At(i));
    TS_ASSIGN_OR_RETURN(item, IndexDeep(context, std::move(item), rest));
    TS_ASSIGN_OR_RETURN(taken.emplace_back(), ToValue(std::move(item), context.budget));
  }
  TS_ASSIGN_OR_RETURN(Value collected, CollectItems(std::move(taken), context.budget));
  if (!items.keys().has_value()) return Term(std::move(collected));
  return Term(Value::Pair(Type::kDict, Attribute::kNone, *items.keys(), std::move(collected)));
}

// Indexes a dictionary whose values are a table but whose keys are not.
absl::StatusOr<Term> IndexRowsByKey(Context& context, const Value& dict, const Value& index) {
  TS_ASSIGN_OR_RETURN(const TableView rows, ViewOf(dict.values()));
  if (rows.rows->count() != dict.keys().count()) {
    return TypeError("a dictionary of {} keys and {} rows", dict.keys().count(),
                     rows.rows->count());
  }
  TS_ASSIGN_OR_RETURN(const KeyPositions found, PositionsOfKeys(dict, index, context.budget));
  if (!found.one) return RowsOf(rows, 0, found.at, context.budget);
  TS_ASSIGN_OR_RETURN(Value row, RowAt(rows, found.at[0]));
  return row;
}

// Returns whether an index takes one item or entry, in which the other indices go on.
bool TakesOne(const Term& x, const Value& index) {
  if (index.is_atom()) return true;
  const auto* view = std::get_if<TableView>(&x);
  if (view != nullptr && view->key_columns > 0) return IsOneKey(index, view->key_columns);
  const auto* value = std::get_if<Value>(&x);
  return value != nullptr && value->is_dict() && IsItemOf(value->keys(), index);
}

}  // namespace

absl::StatusOr<Term> IndexTerm(Context& context, const Term& x, const Value& index) {
  if (const auto* view = std::get_if<TableView>(&x)) return IndexView(context, *view, index);
  if (const auto* slice = std::get_if<Slice>(&x)) {
    if (index.is_atom()) {  // Takes one item without copying its column.
      TS_ASSIGN_OR_RETURN(const auto positions, PositionsOf(index, slice->count()));
      if (positions[0] == kNoItem) return NullItemOf(*slice);
      TS_ASSIGN_OR_RETURN(Value item, slice->At(positions[0]));
      return item;
    }
    if (index.is_vector()) {
      TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> positions, PositionsOf(index, slice->count()));
      for (uint32_t& at : positions) {
        if (at != kNoItem) at = static_cast<uint32_t>(slice->rows->At(at));
      }
      TS_ASSIGN_OR_RETURN(Value taken, GatherRows(slice->column, positions, context.budget));
      return Term(taken.is_list() ? Collapse(std::move(taken.mutable_items())) : std::move(taken));
    }
    TS_ASSIGN_OR_RETURN(const Value vector, Materialise(*slice, context.budget));
    return IndexTerm(context, vector, index);
  }
  const Value& value = std::get<Value>(x);
  if (value.is_table() || value.is_keyed_table()) {
    TS_ASSIGN_OR_RETURN(const TableView view, ViewOf(value));
    return IndexView(context, view, index);
  }
  if (value.is_dict() && value.values().is_table()) return IndexRowsByKey(context, value, index);
  absl::StatusOr<Value> result =
      value.is_dict() ? IndexDict(value, index, context.budget)
      : value.is_vector() || value.is_list()
          ? IndexList(value, index, context.budget, 0)
          : absl::StatusOr<Value>(TypeError("a {} applied to a value", NameOf(value.type())));
  TS_RETURN_IF_ERROR(result.status());
  return *std::move(result);
}

absl::StatusOr<Term> IndexDeep(Context& context, Term x, std::span<const Value> indices) {
  if (indices.empty()) return x;
  const Budget::Level level(context.budget);
  TS_RETURN_IF_ERROR(level.Check());
  TS_ASSIGN_OR_RETURN(const std::optional<Function> function, AsFunction(x, context.budget));
  if (function.has_value()) {
    std::vector<Term> args(indices.begin(), indices.end());
    return ApplyFunction(context, *function, args);
  }
  if (auto* value = std::get_if<Value>(&x);
      value != nullptr && (value->is_table() || value->is_keyed_table())) {
    TS_ASSIGN_OR_RETURN(TableView view, ViewOf(std::move(*value)));
    x = std::move(view);
  }
  const Value& index = indices[0];
  const std::span<const Value> rest = indices.subspan(1);
  if (index.is_null()) {
    const auto* const value = std::get_if<Value>(&x);
    if (value != nullptr && value->is_atom()) return TypeError("an index of an atom");
    return rest.empty() ? x : IndexAll(context, std::move(x), rest);
  }
  if (rest.empty() || TakesOne(x, index)) {
    TS_ASSIGN_OR_RETURN(Term item, IndexTerm(context, x, index));
    return IndexDeep(context, std::move(item), rest);
  }
  // t[i;`c] is a part of a column.
  const auto* view = std::get_if<TableView>(&x);
  if (view != nullptr && view->key_columns == 0 && index.type() != Type::kSymbol &&
      rest[0].is_atom_of(Type::kSymbol)) {
    TS_ASSIGN_OR_RETURN(const Term column, IndexTerm(context, x, rest[0]));
    TS_ASSIGN_OR_RETURN(Term items, IndexTerm(context, column, index));
    return IndexEvery(context, std::move(items), rest.subspan(1));
  }
  TS_ASSIGN_OR_RETURN(Term items, IndexTerm(context, x, index));
  return IndexAll(context, std::move(items), rest);
}

}  // namespace tickstack::query
