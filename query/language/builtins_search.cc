// Functions that search items and treat lists as sets.

#include <algorithm>
#include <array>
#include <vector>

#include "query/kernels/bins.h"
#include "query/kernels/dictionary.h"
#include "query/kernels/distinct_rows.h"
#include "query/kernels/find_rows.h"
#include "query/kernels/group_items.h"
#include "query/kernels/nested_rows.h"
#include "query/kernels/search.h"
#include "query/kernels/sets.h"
#include "query/kernels/where.h"
#include "query/language/builtins.h"
#include "query/language/indexing.h"
#include "query/language/item_selection.h"

namespace tickstack::query::builtins {
namespace {

// Replaces a dictionary that is not a keyed table by its values, which are the items of sets.
void TakeValues(Term& term) {
  auto* const value = std::get_if<Value>(&term);
  if (value == nullptr || !value->is_dict() || value->is_keyed_table()) return;
  Value values = value->values();
  term = std::move(values);
}

// For rows: returns whether they are in a table.
Result InTerm(Context& context, Args args) {
  TakeValues(args[1]);
  if (!IsTableTerm(args[1])) {
    auto* const dict = std::get_if<Value>(&args[0]);
    if (dict == nullptr || !IsPlainDict(*dict)) return Binary<In>(context, args);
    TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
    TS_ASSIGN_OR_RETURN(Value flags, In(dict->values(), y, context.budget));
    if (!IsSequence(flags) || flags.count() != dict->keys().count()) {
      return TypeError("a dictionary whose values are no items");
    }
    TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(dict->keys())));
    return Value::Dict(dict->keys(), std::move(flags));
  }
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (view.key_columns > 0) return TypeError("rows in a keyed table");
  TS_ASSIGN_OR_RETURN(const WantedRows rows, WantedRowsOf(x, view.columns.size(), context.budget));
  if (rows.columns.size() != view.columns.size()) {
    return LengthError("rows of {} columns in a table of {}", rows.columns.size(),
                       view.columns.size());
  }
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> found,
                      FindRows(view, rows.columns, context.budget));
  TS_RETURN_IF_ERROR(context.budget.Charge(found.size()));
  VectorWriter<uint8_t> flags(Type::kBoolean, found.size());
  std::ranges::transform(found, flags.data(), [](uint32_t at) { return at != kNoItem; });
  const Value in = std::move(flags).Finish();
  return rows.one ? ItemAt(in, 0) : in;
}

// Returns distinct items; a table's distinct rows are not copied.
Result DistinctTerm(Context& context, Args args) {
  if (!IsTableTerm(args[0])) return Unary<Distinct>(context, args);
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  TS_ASSIGN_OR_RETURN(TableView rows, DistinctRows(view, context.budget));
  return rows;
}

// Returns where flags are set; a number n repeats its position n times.
Result Where(Context& context, Args args) {
  const Value* entries = AsEntries(args[0]);
  const std::optional<Slice> slice =
      entries != nullptr ? Slice::Of(entries->values()) : SliceOf(args[0]);
  if (!slice.has_value()) return TypeError("where of an atom");
  TS_ASSIGN_OR_RETURN(Value positions, PositionsWhere(*slice, context.budget));
  if (entries == nullptr) return positions;
  Term keys = entries->keys();
  return IndexTerm(context, keys, positions);
}

Result Group(Context& context, Args args) {
  const std::optional<Slice> slice = SliceOf(args[0]);
  if (slice.has_value()) return FromValue(GroupItems(*slice, context.budget));
  if (const Value* const entries = AsEntries(args[0])) {  // Takes the keys of each value.
    return FromValue(GroupDict(*entries, context.budget));
  }
  if (!IsTableTerm(args[0])) return TypeError("group of an atom");
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  return FromValue(GroupTable(view, context.budget));
}

// Returns the items of x that are, or are not, in y.
template <bool among>
Result Filtered(Context& context, Args args) {
  Budget& budget = context.budget;
  const auto positions_of = [&](std::span<const uint8_t> flags) -> absl::StatusOr<Positions> {
    TS_RETURN_IF_ERROR(budget.Charge(flags.size(), sizeof(uint32_t)));
    Positions positions;
    for (uint32_t i = 0; i < flags.size(); ++i) {
      if ((flags[i] != 0) == among) positions.push_back(i);
    }
    return positions;
  };
  TakeValues(args[0]);
  TakeValues(args[1]);
  if (IsTableTerm(args[0]) && IsTableTerm(args[1])) {
    TS_ASSIGN_OR_RETURN(const TableView y, ToView(context, std::move(args[1])));
    TS_ASSIGN_OR_RETURN(TableView x, ToView(context, std::move(args[0])));
    if (x.key_columns + y.key_columns > 0) return NyiError("a set of keyed tables");
    TS_ASSIGN_OR_RETURN(const ScratchVector<uint8_t> flags, AreRowsOf(x, y, budget));
    TS_ASSIGN_OR_RETURN(Positions positions, positions_of(flags));
    return ItemsAt(context, std::move(x), std::move(positions));
  }
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(Value x, Take(context, args[0]));
  if (!x.is_vector() && !x.is_list()) return TypeError("a set of a {}", NameOf(x.type()));
  TS_ASSIGN_OR_RETURN(const Value flags, AreItemsOf(x, y, budget));
  TS_ASSIGN_OR_RETURN(Positions positions, positions_of(flags.span<uint8_t>()));
  return ItemsAt(context, std::move(x), std::move(positions));
}

// distinct x,y
Result Union(Context& context, Args args) {
  const auto is_dict = [](const Term& term) {
    const auto* const value = std::get_if<Value>(&term);
    return value != nullptr && value->is_dict() && !value->is_keyed_table();
  };
  if (is_dict(args[0]) || is_dict(args[1])) return NyiError("union of dictionaries");
  TS_ASSIGN_OR_RETURN(Term joined, Apply(context, *FindBuiltin(","), args));
  return Apply(context, *FindBuiltin("distinct"), std::span(&joined, 1));
}

// bin and binr. In a dictionary they find the key of the item, or the key's null.
template <absl::StatusOr<Value> (*search)(const Value&, const Value&, Budget&)>
Result Bin(Context& context, Args args) {
  if (IsTableTerm(args[0])) return NyiError("bin of a table");
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(Value x, Take(context, args[0]));
  if (!IsPlainDict(x)) return FromValue(search(x, y, context.budget));
  TS_ASSIGN_OR_RETURN(Value places, search(x.values(), y, context.budget));
  return IndexDeep(context, x.keys(), std::span(&places, 1));
}

constexpr std::array kSearchTable = {
    With(Builtin::kPure, ByItemOfFirst(Builtin{"in", 2, 2, true, InTerm, true})),
    With(Builtin::kPure, ByItemOfFirst(Builtin{"within", 2, 2, true, Binary<Within>, true})),
    Builtin{"bin", 2, 2, true, Bin<LastAtMost>, true},
    Builtin{"binr", 2, 2, true, Bin<FirstAtLeast>, true},
    Builtin{"where", 1, 1, false, Where},
    Builtin{"group", 1, 1, false, Group},
    With(Builtin::kPure, Builtin{"distinct", 1, 1, false, DistinctTerm}),
    Builtin{"except", 2, 2, true, Filtered<false>, true},
    Builtin{"inter", 2, 2, true, Filtered<true>, true},
    Builtin{"union", 2, 2, true, Union, true},
};

}  // namespace

std::span<const Builtin> SearchFunctions() { return kSearchTable; }

}  // namespace tickstack::query::builtins
