#include "query/language/missing_entry.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "query/columns/concatenate.h"
#include "query/columns/elements.h"
#include "query/columns/gather.h"
#include "query/kernels/casts.h"
#include "query/language/function.h"
#include "query/language/item_terms.h"

namespace tickstack::query {
namespace {

bool HoldsItems(const Value& value) { return value.is_vector() || value.is_list(); }

// Returns the item that a dictionary of dictionaries has for a key that is missing: the first one
// with nulls for its values. nullopt: its items are no dictionaries.
std::optional<Value> MissingDict(const Value& x) {
  if (!x.is_dict() || x.is_keyed_table()) return std::nullopt;
  if (x.values().is_table()) {
    std::vector<Value> nulls;
    for (const Value& column : x.values().columns()) nulls.push_back(NullOf(column.type()));
    return Value::Dict(Value::Symbols(x.values().column_names()), Collapse(std::move(nulls)));
  }
  if (!x.values().is_list() || x.values().count() == 0) return std::nullopt;
  const Value& first = x.values().items().front();
  if (!first.is_dict() || !HoldsItems(first.values())) return std::nullopt;
  const ScratchVector<uint32_t> none(first.values().count(), kNoItem);
  return Value::Dict(first.keys(), TakeItems(first.values(), none));
}

// Returns the built-in that a function is; nullptr if it is none.
const Builtin* BuiltinOf(const Term& f) {
  const auto* const function = std::get_if<Function>(&f);
  const auto* const builtin = function == nullptr ? nullptr : std::get_if<const Builtin*>(function);
  return builtin == nullptr ? nullptr : *builtin;
}

bool JoinsItems(const Term& f) {
  const Builtin* const builtin = BuiltinOf(f);
  return builtin != nullptr && builtin->name == ",";
}

// True for the operators that combine dictionaries entry by entry (atomic.h).
bool CombinesEntries(const Term& f) {
  static constexpr std::string_view kNames[] = {"+", "-",   "*",  "%",   "&",   "|",
                                                "^", "and", "or", "div", "mod", "xbar"};
  const Builtin* const builtin = BuiltinOf(f);
  return builtin != nullptr && std::ranges::find(kNames, builtin->name) != std::end(kNames);
}

// Returns what x f y has for the keys of the dictionary y, if x has none of them. `null` is an item
// of x.
absl::StatusOr<Value> EntriesOf(Context& context, const Value& null, Value y, const Term& f) {
  Value none = null.is_atom() ? EmptyVector(null.type()) : Value::List({});
  std::vector<Term> args;
  args.emplace_back(Value::Dict(EmptyVector(y.keys().type()), std::move(none)));
  args.emplace_back(std::move(y));
  TS_ASSIGN_OR_RETURN(Term combined, ApplyTerm(context, f, args));
  return ToValue(std::move(combined), context.budget);
}

}  // namespace

Value MissingEntryOf(const Value& dict, const Value& values) {
  if (std::optional<Value> entry = MissingDict(dict)) return *std::move(entry);
  return values.is_list() ? MissingItem(values.items()) : NullOf(values.type());
}

absl::StatusOr<std::optional<Value>> FirstChange(Context& context, const Value& null,
                                                 const Value& y, const Term& f) {
  const bool joins = JoinsItems(f);
  if (!joins && !CombinesEntries(f)) return std::optional<Value>();
  if (null.is_dict() && y.is_atom()) {  // The row of a keyed table: y for each column.
    std::vector<Value> items;
    for (size_t i = 0; i < null.values().count(); ++i) {
      const Value item = ItemAt(null.values(), i);
      TS_ASSIGN_OR_RETURN(std::optional<Value> first, FirstChange(context, item, y, f));
      if (!first.has_value()) {
        TS_ASSIGN_OR_RETURN(first, Join(item, y, context.budget));
      }
      items.push_back(*std::move(first));
    }
    return std::optional(Value::Dict(null.keys(), Collapse(std::move(items))));
  }
  if (joins) return HoldsItems(null) || null.is_dict() ? std::optional<Value>() : std::optional(y);
  if (null.is_dict()) {
    const bool fits = HoldsItems(y) && y.count() == null.keys().count();
    if (!fits && !y.is_dict()) return std::optional(y);  // No row, which is said later.
    TS_ASSIGN_OR_RETURN(
        Value row, EntriesOf(context, Value::List({}), fits ? Value::Dict(null.keys(), y) : y, f));
    return std::optional(std::move(row));
  }
  const Value key = Enlist(Value::Long(0));
  Value entry = Value::Dict(key, y.is_atom() ? Enlist(y) : Value::List({y}));
  TS_ASSIGN_OR_RETURN(entry, EntriesOf(context, null, std::move(entry), f));
  Value item = ItemAt(entry.values(), 0);
  if (!null.is_atom() || !item.is_atom()) return std::optional(std::move(item));
  // An int added to a long is a long, also where there was none.
  std::vector<Term> args;
  args.emplace_back(null);
  args.emplace_back(y);
  TS_ASSIGN_OR_RETURN(Term applied, ApplyTerm(context, f, args));
  TS_ASSIGN_OR_RETURN(const Value typed, ToValue(std::move(applied), context.budget));
  if (typed.type() == item.type()) return std::optional(std::move(item));
  const Value type = Value::Short(static_cast<int16_t>(typed.type()));
  TS_ASSIGN_OR_RETURN(item, Cast(type, item, context.budget));
  return std::optional(std::move(item));
}

}  // namespace tickstack::query
