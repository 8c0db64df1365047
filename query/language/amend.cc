#include "query/language/amend.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "query/columns/concatenate.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/joins/stacked_tables.h"
#include "query/kernels/dictionary.h"
#include "query/kernels/find_rows.h"
#include "query/kernels/keys.h"
#include "query/kernels/search.h"
#include "query/language/functions.h"
#include "query/language/indexing.h"
#include "query/language/item_terms.h"
#include "query/language/missing_entry.h"
#include "query/language/variables.h"

namespace tickstack::query {
namespace {

bool HoldsItems(const Value& value) { return value.is_vector() || value.is_list(); }

// An item before it is amended.
struct Old {
  Value item;
  bool is_new = false;  // True for an item that is not there yet; `item` is then its null.
};

// Returns what an item becomes.
using MakeItem = absl::FunctionRef<absl::StatusOr<Value>(Old old, const std::optional<Value>& y)>;

absl::StatusOr<Value> Changed(Context& context, Old old, const std::optional<Value>& y,
                              const Term* f) {
  if (f == nullptr) return *y;
  if (old.is_new && y.has_value()) {
    TS_ASSIGN_OR_RETURN(std::optional<Value> first, FirstChange(context, old.item, *y, *f));
    if (first.has_value()) return *std::move(first);
  }
  std::vector<Term> args;
  args.emplace_back(std::move(old.item));
  if (y.has_value()) args.emplace_back(*y);
  TS_ASSIGN_OR_RETURN(Term changed, ApplyTerm(context, *f, args));
  return ToValue(std::move(changed), context.budget);
}

// Returns the part of y for one of several indices: an item of y, or y itself if it is one value
// for all.
absl::StatusOr<std::optional<Value>> PartOf(const std::optional<Value>& y, bool one, size_t i,
                                            size_t n) {
  if (!y.has_value() || one || !HoldsItems(*y)) return y;
  if (y->count() != n) return LengthError("{} items for {} indices", y->count(), n);
  return std::optional<Value>(ItemAt(*y, i));
}

// Returns the part of y for entry i of a dictionary, all of whose entries are changed: that of the
// same key if y is a dictionary.
absl::StatusOr<std::optional<Value>> EntryFor(const Value& key, const std::optional<Value>& y,
                                              size_t i, size_t n) {
  if (!y.has_value() || !IsPlainDict(*y)) return PartOf(y, /*one=*/false, i, n);
  for (size_t at = 0; at < y->keys().count(); ++at) {
    if (Match(ItemAt(y->keys(), at), key)) return std::optional(ItemAt(y->values(), at));
  }
  return LengthError("{} entries for {} keys", y->keys().count(), n);
}

// Changes items of a vector or list in place, and takes the changes back if one fails.
class ItemsInPlace {
 public:
  ItemsInPlace(Value& x, Budget& budget) : x_(x), budget_(budget) {}

  absl::Status Begin(size_t changes) {
    TS_RETURN_IF_ERROR(budget_.ChargeItems(changes));
    type_ = x_.type();
    if (!x_.is(Type::kSymbol)) return absl::OkStatus();
    // Names lie back to back, so that changing some means writing all anew.
    TS_RETURN_IF_ERROR(budget_.Charge(ApproximateBytes(x_)));
    TS_RETURN_IF_ERROR(budget_.ChargeItems(x_.count()));
    names_ = std::exchange(x_, Value::List({}));
    std::vector<Value> items;
    for (size_t i = 0; i < names_->count(); ++i) items.push_back(ItemAt(*names_, i));
    x_ = Value::List(std::move(items));
    return absl::OkStatus();
  }

  absl::Status Set(size_t i, Value item) {
    const bool fits = type_ == Type::kList || item.is_atom_of(type_);
    if (!fits) return TypeError("a {} among {}s", NameOf(item.type()), NameOf(type_));
    if (!names_.has_value()) before_.emplace_back(i, ItemAt(x_, i));
    Put(i, std::move(item));
    return absl::OkStatus();
  }

  absl::Status End(absl::Status status) {
    if (names_.has_value()) {
      x_ = status.ok() ? Collapsed() : *std::move(names_);
      return status;
    }
    if (status.ok()) {
      x_.set_attribute(Attribute::kNone);
      if (x_.is_list()) x_ = Collapsed();
      return status;
    }
    for (; !before_.empty(); before_.pop_back()) {
      Put(before_.back().first, std::move(before_.back().second));
    }
    return status;
  }

 private:
  Value Collapsed() {
    if (x_.count() == 0) return names_.has_value() ? *std::move(names_) : std::move(x_);
    return Collapse(std::move(x_.mutable_items()));
  }
  void Put(size_t i, Value item) {
    if (x_.is_list()) {
      x_.mutable_items()[i] = std::move(item);
      return;
    }
    const std::span<const std::byte> element = item.elements();
    std::memcpy(MutableElements(x_).data() + i * element.size(), element.data(), element.size());
  }

  Value& x_;
  Budget& budget_;
  Type type_ = Type::kList;
  std::optional<Value> names_;  // The old value of a vector of names.
  std::vector<std::pair<size_t, Value>> before_;
};

absl::Status AmendList(Context& context, Value& x, const Value& index,
                       const std::optional<Value>& y, MakeItem make) {
  const bool all = index.is_null(), one = index.is_atom();
  if (!all && !one && !HoldsItems(index)) return TypeError("an index of {}", NameOf(index.type()));
  const size_t n = all ? x.count() : index.count();
  ItemsInPlace items(x, context.budget);
  TS_RETURN_IF_ERROR(items.Begin(n));
  const auto change = [&](size_t i) -> absl::Status {
    TS_RETURN_IF_ERROR(context.budget.CheckTime());
    size_t at = i;
    if (!all) {
      const std::optional<int64_t> number = IndexOf(one ? index : ItemAt(index, i));
      if (!number.has_value()) return TypeError("an index that is no number");
      if (*number < 0 || static_cast<size_t>(*number) >= x.count()) {
        return LengthError("index {} of {} items", *number, x.count());
      }
      at = static_cast<size_t>(*number);
    }
    TS_ASSIGN_OR_RETURN(const std::optional<Value> part, PartOf(y, one, i, n));
    TS_ASSIGN_OR_RETURN(Value item, make({ItemAt(x, at)}, part));
    TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(item)));
    return items.Set(at, std::move(item));
  };
  absl::Status status;
  for (size_t i = 0; i < n && status.ok(); ++i) status = change(i);
  return items.End(status);
}

// Returns the row of items at a place.
Value RowOf(const SymbolVector& names, const std::vector<std::vector<Value>>& items, size_t place) {
  std::vector<Value> row;
  for (const std::vector<Value>& column : items) row.push_back(column[place]);
  return Value::Dict(Value::Symbols(names), Collapse(std::move(row)));
}

Value RowOf(const SymbolVector& names, const std::vector<Value>& columns, size_t row) {
  std::vector<Value> items;
  for (const Value& column : columns) {
    items.push_back(row == kNoItem ? NullOf(column.type()) : ItemAt(column, row));
  }
  return Value::Dict(Value::Symbols(names), Collapse(std::move(items)));
}

// Returns the rows of a table as a list of dictionaries.
absl::StatusOr<Value> RowsAsList(const Value& table, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckTable(table));
  TS_RETURN_IF_ERROR(budget.ChargeItems(table.count() * (table.columns().size() + 2)));
  std::vector<Value> rows;
  for (size_t i = 0; i < table.count(); ++i) {
    rows.push_back(RowOf(table.column_names(), table.columns(), i));
  }
  return Value::List(std::move(rows));
}

// Amends a dictionary; a new key comes after the others.
absl::Status AmendDict(Context& context, Value& x, const Value& index,
                       const std::optional<Value>& y, MakeItem make) {
  Budget& budget = context.budget;
  const bool rows = x.values().is_table();  // Dictionaries of the same names are one.
  if (!HoldsItems(x.keys()) || (!HoldsItems(x.values()) && !rows))
    return NyiError("amend of such a dictionary");
  TS_RETURN_IF_ERROR(budget.Charge(2 * ApproximateBytes(x)));
  Value keys = x.keys(), values = x.values();
  if (rows) {
    TS_ASSIGN_OR_RETURN(values, RowsAsList(values, budget));
  }
  const bool all = index.is_null(), one = !all && IsItemOf(keys, index);
  const size_t n = all ? keys.count() : one ? 1 : index.count();
  for (size_t i = 0; i < n; ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const Value key = all ? ItemAt(keys, i) : one ? index : ItemAt(index, i);
    size_t at = 0;
    while (at < keys.count() && !Match(ItemAt(keys, at), key)) ++at;
    TS_ASSIGN_OR_RETURN(const std::optional<Value> part,
                        all ? EntryFor(key, y, i, n) : PartOf(y, one, i, n));
    const bool known = at < keys.count();
    TS_ASSIGN_OR_RETURN(
        Value item,
        make(known ? Old{ItemAt(values, at)} : Old{MissingEntryOf(x, values), true}, part));
    if (known) {
      ItemsInPlace items(values, budget);
      TS_RETURN_IF_ERROR(items.Begin(1));
      TS_RETURN_IF_ERROR(items.End(items.Set(at, std::move(item))));
    } else {
      if (keys.is_vector() && !key.is_atom_of(keys.type())) {
        return TypeError("a key of {} among {}s", NameOf(key.type()), NameOf(keys.type()));
      }
      if (values.is_vector() && !item.is_atom_of(values.type())) {
        return TypeError("a {} among {}s", NameOf(item.type()), NameOf(values.type()));
      }
      TS_ASSIGN_OR_RETURN(keys, Join(keys, Enlist(key), budget));
      TS_ASSIGN_OR_RETURN(values, Join(values, Enlist(std::move(item)), budget));
    }
  }
  if (values.is_list() && std::ranges::any_of(values.items(), &Value::is_dict)) {
    TS_ASSIGN_OR_RETURN(values, CollectItems(std::move(values.mutable_items()), budget));
  }
  x = Value::Pair(Type::kDict, Attribute::kNone, std::move(keys), std::move(values));
  return absl::OkStatus();
}

// ---- Rows

// Returns the item that a row has for a column: by its name from a dictionary, by its place from a
// list. nullopt: the dictionary has none.
absl::StatusOr<std::optional<Value>> ItemForColumn(const Value& row, const SymbolVector& names,
                                                   size_t column) {
  if (HoldsItems(row)) {
    if (row.count() != names.size()) {
      return LengthError("{} items for {} columns", row.count(), names.size());
    }
    return std::optional<Value>(ItemAt(row, column));
  }
  if (!row.is_dict() || !row.keys().is(Type::kSymbol) || !HoldsItems(row.values()) ||
      row.values().count() != row.keys().count()) {
    return TypeError("a row that is a {}", NameOf(row.type()));
  }
  for (size_t i = 0; i < row.count(); ++i) {
    if (row.keys().symbols()[i] == names[column]) {
      return std::optional<Value>(ItemAt(row.values(), i));
    }
  }
  return std::optional<Value>();
}

// Checks that a dictionary names only columns that exist.
absl::Status CheckNames(const Value& row, const SymbolVector& names) {
  if (!row.is_dict() || !row.keys().is(Type::kSymbol)) return absl::OkStatus();
  for (size_t i = 0; i < row.count(); ++i) {
    bool known = false;
    for (size_t j = 0; j < names.size() && !known; ++j) known = names[j] == row.keys().symbols()[i];
    if (!known) return NameError(row.keys().symbols()[i]);
  }
  return absl::OkStatus();
}

// Returns the part of row i of several rows: a row of a table, or an item of a list of rows.
absl::StatusOr<std::optional<Value>> RowPartOf(const std::optional<Value>& y, bool one, size_t i,
                                               size_t n) {
  if (!y.has_value() || one || !(y->is_table() || HoldsItems(*y))) return y;
  if (y->count() != n) return LengthError("{} rows for {} indices", y->count(), n);
  if (!y->is_table()) return std::optional<Value>(ItemAt(*y, i));
  return std::optional<Value>(RowOf(y->column_names(), y->columns(), i));
}

// Makes a row the items at `place` of each column, or appends it behind the others. A column that
// the row does not name keeps its item.
absl::Status PutRow(const Value& row, const Value& before, const SymbolVector& names, size_t place,
                    std::vector<std::vector<Value>>& items, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckNames(row, names));
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(row)));
  for (size_t column = 0; column < items.size(); ++column) {
    TS_ASSIGN_OR_RETURN(std::optional<Value> item, ItemForColumn(row, names, column));
    if (!item.has_value()) {
      TS_ASSIGN_OR_RETURN(item, ItemForColumn(before, names, column));
    }
    if (place == items[column].size()) items[column].emplace_back();
    items[column][place] = *std::move(item);
  }
  return absl::OkStatus();
}

// Amends the rows that an index names, one after the other.
absl::Status AmendRows(Context& context, Value& x, const Value& index,
                       const std::optional<Value>& y, MakeItem make) {
  const bool all = index.is_null(), one = index.is_atom();
  if (!all && !one && !HoldsItems(index)) return TypeError("a row of {}", NameOf(index.type()));
  if (y.has_value() && y->is_table()) TS_RETURN_IF_ERROR(CheckTable(*y));
  const SymbolVector names = x.column_names();
  std::vector<Value> columns = x.columns();
  const size_t rows = x.count(), n = all ? rows : index.count();
  // Collects the items of each column and changes them at once, because changing one name means
  // writing all anew.
  std::vector<std::vector<Value>> items(columns.size());
  absl::flat_hash_map<int64_t, size_t> changed;  // The place of a row's items.
  ScratchVector<int64_t> places;
  TS_RETURN_IF_ERROR(context.budget.Charge(n, 4 * sizeof(int64_t)));
  for (size_t i = 0; i < n; ++i) {
    TS_RETURN_IF_ERROR(context.budget.CheckTime());
    const std::optional<int64_t> at =
        all ? std::optional(static_cast<int64_t>(i)) : IndexOf(one ? index : ItemAt(index, i));
    if (!at.has_value()) return TypeError("a row that is no number");
    if (*at < 0 || static_cast<size_t>(*at) >= rows) {
      return LengthError("row {} of {}", *at, rows);
    }
    TS_ASSIGN_OR_RETURN(const std::optional<Value> part, RowPartOf(y, one, i, n));
    const auto [place, is_first] = changed.try_emplace(*at, places.size());
    const Value before = is_first ? RowOf(names, columns, static_cast<size_t>(*at))
                                  : RowOf(names, items, place->second);
    TS_ASSIGN_OR_RETURN(const Value row, make({before}, part));
    if (is_first) places.push_back(*at);
    TS_RETURN_IF_ERROR(PutRow(row, before, names, place->second, items, context.budget));
  }
  for (size_t column = 0; column < columns.size(); ++column) {
    ItemsInPlace in_place(columns[column], context.budget);
    TS_RETURN_IF_ERROR(in_place.Begin(places.size()));
    absl::Status status;
    for (size_t i = 0; i < places.size() && status.ok(); ++i) {
      status = in_place.Set(static_cast<size_t>(places[i]), std::move(items[column][i]));
    }
    TS_RETURN_IF_ERROR(in_place.End(status));
  }
  x = Value::Table(names, std::move(columns));
  return absl::OkStatus();
}

// Amends rows of a keyed table by their keys; rows of new keys come after the others.
absl::Status AmendKeyed(Context& context, Value& x, const Value& index,
                        const std::optional<Value>& y, MakeItem make) {
  Budget& budget = context.budget;
  if (y.has_value() && y->is_table()) TS_RETURN_IF_ERROR(CheckTable(*y));
  TS_ASSIGN_OR_RETURN(const TableView view, ViewOf(x));
  TS_ASSIGN_OR_RETURN(const WantedRows wanted, WantedRowsOf(index, view.key_columns, budget));
  if (wanted.columns.size() != view.key_columns) {
    return LengthError("{} columns for {} of keys", wanted.columns.size(), view.key_columns);
  }
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> found, FindRows(view, wanted.columns, budget));
  KeyNumbers keys(wanted.columns.size());
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> numbers, keys.Number(wanted.columns, budget));
  ScratchVector<uint32_t> first_rows;  // By number, which is the place of the key's items.
  const SymbolVector names = x.values().column_names();
  const std::vector<Value>& columns = x.values().columns();
  std::vector<std::vector<Value>> items(columns.size());
  for (size_t i = 0; i < found.size(); ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    TS_ASSIGN_OR_RETURN(const std::optional<Value> part, RowPartOf(y, wanted.one, i, found.size()));
    const bool is_first = numbers[i] == first_rows.size();
    if (is_first) first_rows.push_back(static_cast<uint32_t>(i));
    const Value before =
        is_first ? RowOf(names, columns, found[i]) : RowOf(names, items, numbers[i]);
    TS_ASSIGN_OR_RETURN(const Value row, make({before, is_first && found[i] == kNoItem}, part));
    TS_RETURN_IF_ERROR(PutRow(row, before, names, numbers[i], items, budget));
  }
  std::vector<std::string> all_names(view.names.begin(), view.names.end());
  std::vector<Value> all;
  for (const Slice& key : wanted.columns) {
    TS_ASSIGN_OR_RETURN(const Value named, Materialise(key, budget));
    all.push_back(TakeItems(named, first_rows));
  }
  for (size_t column = 0; column < columns.size(); ++column) {
    const bool nested = columns[column].is_list();
    all.push_back(nested ? Value::List(std::move(items[column]))
                         : Collapse(std::move(items[column])));
  }
  TableView rows = ViewOf(std::move(all_names), std::move(all));
  rows.key_columns = view.key_columns;
  TS_ASSIGN_OR_RETURN(TableView merged, MergeTables(view, rows, OneSided::kMismatch, budget));
  TS_ASSIGN_OR_RETURN(x, Release(std::move(merged), budget));
  return absl::OkStatus();
}

// Amends whole columns; a new one comes after the others.
absl::Status AmendTable(Context& context, Value& x, const Value& index,
                        const std::optional<Value>& y, MakeItem make) {
  if (index.type() != Type::kSymbol) return AmendRows(context, x, index, y, make);
  SymbolVector names = x.column_names();
  std::vector<Value> columns = x.columns();
  const size_t rows = x.count(), n = index.count();
  for (size_t i = 0; i < n; ++i) {
    const std::string_view name = index.is_atom() ? index.symbol() : index.symbols()[i];
    size_t at = 0;
    while (at < names.size() && names[at] != name) ++at;
    const bool known = at < names.size();
    TS_ASSIGN_OR_RETURN(const std::optional<Value> part, PartOf(y, index.is_atom(), i, n));
    TS_ASSIGN_OR_RETURN(Value column, make(known ? Old{columns[at]} : Old{Value(), true}, part));
    if (!HoldsItems(column)) {
      TS_RETURN_IF_ERROR(context.budget.Charge(rows, 16));
      column = Repeat(column, rows);
    }
    if (column.count() != rows) {
      return LengthError("column {} of {} items, others {}", name, column.count(), rows);
    }
    if (known) {
      columns[at] = std::move(column);
    } else {
      names.push_back(name);
      columns.push_back(std::move(column));
    }
  }
  x = Value::Table(std::move(names), std::move(columns));
  return absl::OkStatus();
}

// Returns whether an index is a list of lists of indices, as in x[(0 1;2)].
bool NestsIndices(const Value& x, const Value& index) {
  if (!index.is_list() || x.is_keyed_table()) return false;
  if (x.is_dict() && !x.keys().is_vector()) return false;  // Lists may be its keys.
  return std::ranges::any_of(index.items(), HoldsItems);
}

// Appends the atoms of a list of indices, and for each of them its part of y.
absl::Status Flatten(const Value& index, const std::optional<Value>& y, Budget& budget,
                     std::vector<Value>& indices, std::vector<Value>& parts, int depth = 0) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  TS_RETURN_IF_ERROR(budget.ChargeItems(2 * index.count()));
  for (size_t i = 0; i < index.count(); ++i) {
    const Value item = ItemAt(index, i);
    TS_ASSIGN_OR_RETURN(std::optional<Value> part, PartOf(y, false, i, index.count()));
    if (HoldsItems(item)) {
      TS_RETURN_IF_ERROR(Flatten(item, part, budget, indices, parts, depth + 1));
      continue;
    }
    indices.push_back(item);
    if (part.has_value()) parts.push_back(*std::move(part));
  }
  return absl::OkStatus();
}

absl::Status AmendLevel(Context& context, Value& x, const Value& index,
                        const std::optional<Value>& y, MakeItem make) {
  if (NestsIndices(x, index)) {
    std::vector<Value> indices, parts;
    TS_RETURN_IF_ERROR(Flatten(index, y, context.budget, indices, parts));
    std::optional<Value> all;
    if (y.has_value()) all = Value::List(std::move(parts));
    return AmendLevel(context, x, Collapse(std::move(indices)), all, make);
  }
  if (HoldsItems(x)) return AmendList(context, x, index, y, make);
  if (x.is_table() || x.is_keyed_table()) TS_RETURN_IF_ERROR(CheckTable(x));
  if (x.is_table()) {
    TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(x)));
    return AmendTable(context, x, index, y, make);
  }
  if (x.is_keyed_table()) {
    TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(x)));
    return AmendKeyed(context, x, index, y, make);
  }
  if (x.is_dict()) return AmendDict(context, x, index, y, make);
  return TypeError("an item of a {}", NameOf(x.type()));
}

absl::Status Amend(Context& context, Value& x, std::span<const Value> indices,
                   const std::optional<Value>& y, const Term* f, bool is_new) {
  const Budget::Level level(context.budget);
  TS_RETURN_IF_ERROR(level.Check());
  if (indices.empty()) {
    TS_ASSIGN_OR_RETURN(x, Changed(context, {x, is_new}, y, f));
    return absl::OkStatus();
  }
  if (x.is_keyed_table() && indices[0].is_null()) {  // All rows of the values.
    Value keys = x.keys(), values = x.values();
    // With other indices, these are of each row.
    const size_t first = indices.size() == 1 ? 1 : 0;
    TS_RETURN_IF_ERROR(Amend(context, values, indices.subspan(first), y, f, is_new));
    if (!values.is_table() || values.count() != keys.count()) {
      return TypeError("values of a keyed table that are no table of as many rows");
    }
    x = Value::KeyedTable(std::move(keys), std::move(values));
    return absl::OkStatus();
  }
  const bool by_row = x.is_table() && indices.size() == 2 && indices[0].type() != Type::kSymbol &&
                      indices[1].is_atom_of(Type::kSymbol);
  if (by_row) {  // t[i;`c] is a part of a column.
    const Value turned[] = {indices[1], indices[0]};
    return Amend(context, x, turned, y, f, is_new);
  }
  return AmendLevel(
      context, x, indices[0], y,
      [&](Old old, const std::optional<Value>& part) -> absl::StatusOr<Value> {
        old.is_new |= is_new;
        if (indices.size() == 1) return Changed(context, std::move(old), part, f);
        // Among missing items, only rows and dictionaries have items of their own.
        if (old.is_new && !old.item.is_dict()) {
          return LengthError("an index into what is not there");
        }
        TS_RETURN_IF_ERROR(Amend(context, old.item, indices.subspan(1), part, f, old.is_new));
        return std::move(old.item);
      });
}

}  // namespace

absl::Status AmendDeep(Context& context, Value& x, std::span<const Value> indices,
                       const Change& change) {
  if (x.is_table() || x.is_keyed_table()) TS_RETURN_IF_ERROR(CheckTable(x));
  return Amend(context, x, indices, change.y, change.f, /*is_new=*/false);
}

absl::Status AmendVariable(Context& context, std::string_view name, std::span<const Value> indices,
                           const Change& change) {
  if (!context.variables.Has(name)) {
    // If the process has a value of that name, it cannot be changed; otherwise the name is an
    // error.
    TS_RETURN_IF_ERROR(FindName(context, name).status());
    return CannotAssign(name);
  }
  Frame& frame = context.variables.FrameOf(name);
  const bool local = &frame == context.variables.locals();
  const std::string whole = local ? std::string(name) : context.variables.Whole(name);
  if (frame.ViewOfName(whole) != nullptr) return NyiError(fmt::format("{}[]:", name));
  std::optional<Term> term = frame.Take(whole);
  if (!term.has_value()) return NameError(name);
  // Takes the value only here, so that it has no other owner and can be changed in place.
  TS_ASSIGN_OR_RETURN(Value value, ToValue(*std::move(term), context.budget));
  absl::Status amended = AmendDeep(context, value, indices, change);
  TS_RETURN_IF_ERROR(frame.Assign(whole, std::move(value)));
  return amended;
}

}  // namespace tickstack::query
