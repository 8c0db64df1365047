#include "query/indexing.h"

#include <vector>

#include "query/elements.h"
#include "query/errors.h"
#include "query/gather.h"

namespace tickstack::query {

std::optional<int64_t> IndexOf(const Value& atom) {
  switch (atom.type()) {
    case Type::kBoolean:
    case Type::kByte:
      return atom.as<uint8_t>();
    case Type::kShort:
      return atom.as<int16_t>() == kNullShort ? kNullLong : atom.as<int16_t>();
    case Type::kInt:
      return atom.as<int32_t>() == kNullInt ? kNullLong : atom.as<int32_t>();
    case Type::kLong:
      return atom.as<int64_t>();
    default:
      return std::nullopt;
  }
}

namespace {

// The positions that an index asks for; kNoItem where it lies outside.
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

// What taking items at `n` positions builds: the positions, and elements or items.
absl::Status ChargeTaking(const Value& list, size_t n, Budget& budget) {
  if (list.is_list()) return budget.ChargeItems(n);
  return budget.Charge(n, sizeof(uint32_t) + sizeof(Guid));
}

absl::StatusOr<Value> IndexList(const Value& list, const Value& index, Budget& budget, int depth) {
  if (depth > 100) return StackError("an index more than 100 deep");
  if (index.is_list()) {
    TS_RETURN_IF_ERROR(budget.ChargeItems(index.count()));
    std::vector<Value> items;
    for (const Value& item : index.items()) {
      TS_ASSIGN_OR_RETURN(Value taken, IndexList(list, item, budget, depth + 1));
      items.push_back(std::move(taken));
    }
    return Collapse(std::move(items));
  }
  if (!index.is_atom() && !index.is_vector()) return TypeError("an index that is no number");
  TS_RETURN_IF_ERROR(ChargeTaking(list, index.count(), budget));
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> positions, PositionsOf(index, list.count()));
  if (!index.is_atom()) return TakeItems(list, positions);
  const Value one = TakeItems(list, positions);
  return ItemAt(one, 0);
}

// The position of an item among a dictionary's keys.
uint32_t FindKey(const Value& keys, const Value& item) {
  for (uint32_t i = 0; i < keys.count(); ++i) {
    if (Match(ItemAt(keys, i), item)) return i;
  }
  return kNoItem;
}

absl::StatusOr<Value> IndexDict(const Value& dict, const Value& index, Budget& budget) {
  const Value &keys = dict.keys(), &values = dict.values();
  if (keys.is_table() || values.is_table()) return NyiError("index of a keyed table");
  if (!(values.is_vector() || values.is_list()) || !(keys.is_vector() || keys.is_list()) ||
      values.count() != keys.count()) {
    return TypeError("a dictionary that is no pair of lists");
  }
  const bool one = index.is_atom() || !keys.is_vector();
  if (!one && !index.is_vector()) return TypeError("a key that is no item");
  TS_RETURN_IF_ERROR(ChargeTaking(values, index.count(), budget));
  ScratchVector<uint32_t> positions;
  for (size_t i = 0; i < (one ? 1 : index.count()); ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());  // Each is a search through the keys.
    positions.push_back(FindKey(keys, one ? index : ItemAt(index, i)));
  }
  const Value taken = TakeItems(values, positions);
  return one ? ItemAt(taken, 0) : taken;
}

// A table by column name or by row number.
absl::StatusOr<Term> IndexView(Context& context, const TableView& view, const Value& index) {
  if (view.key_columns > 0) return NyiError("index of a keyed table");
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
  if (!index.is_atom() && !index.is_vector()) return TypeError("a row that is no number");
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> positions, PositionsOf(index, view.count()));
  if (index.is_atom()) {
    TS_ASSIGN_OR_RETURN(Value row, RowAt(view, positions[0]));
    return row;
  }
  for (uint32_t& at : positions) {
    if (at != kNoItem) at = static_cast<uint32_t>(view.rows->At(at));
  }
  std::vector<Value> columns;
  for (const ViewColumn& column : view.columns) {
    TS_ASSIGN_OR_RETURN(const Column whole, column.Get(context.budget));
    TS_ASSIGN_OR_RETURN(Value taken, GatherRows(whole, positions, context.budget));
    columns.push_back(std::move(taken));
  }
  return ViewOf(view.names, std::move(columns));
}

}  // namespace

absl::StatusOr<Term> IndexTerm(Context& context, const Term& x, const Value& index) {
  if (const auto* view = std::get_if<TableView>(&x)) return IndexView(context, *view, index);
  if (const auto* slice = std::get_if<Slice>(&x)) {
    if (index.is_atom()) {  // One item needs no copy of its column.
      TS_ASSIGN_OR_RETURN(const auto positions, PositionsOf(index, slice->count()));
      if (positions[0] == kNoItem) return NullOf(slice->type());
      TS_ASSIGN_OR_RETURN(Value item, slice->At(positions[0]));
      return item;
    }
    TS_ASSIGN_OR_RETURN(const Value vector, Materialise(*slice, context.budget));
    return IndexTerm(context, vector, index);
  }
  const Value& value = std::get<Value>(x);
  if (value.is_table() || value.is_keyed_table()) {
    TS_ASSIGN_OR_RETURN(const TableView view, ViewOf(value));
    return IndexView(context, view, index);
  }
  absl::StatusOr<Value> result =
      value.is_dict() ? IndexDict(value, index, context.budget)
      : value.is_vector() || value.is_list()
          ? IndexList(value, index, context.budget, 0)
          : absl::StatusOr<Value>(TypeError("a {} applied to a value", NameOf(value.type())));
  TS_RETURN_IF_ERROR(result.status());
  return *std::move(result);
}

}  // namespace tickstack::query
