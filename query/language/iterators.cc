#include "query/language/iterators.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "query/columns/concatenate.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/joins/joined_columns.h"
#include "query/language/indexing.h"
#include "query/language/item_terms.h"
#include "query/language/variables.h"

namespace tickstack::query {
namespace {

// A function that does the same over all items of a vector at once.
struct Shortcut {
  Iterator iterator;
  std::string_view of;
  std::string_view builtin;
};
constexpr Shortcut kShortcuts[] = {
    {Iterator::kOver, "+", "sum"},     {Iterator::kOver, "&", "min"},
    {Iterator::kOver, "|", "max"},     {Iterator::kScan, "+", "sums"},
    {Iterator::kScan, "*", "prds"},    {Iterator::kScan, "&", "mins"},
    {Iterator::kScan, "|", "maxs"},    {Iterator::kPrior, "-", "deltas"},
    {Iterator::kPrior, "%", "ratios"},
};

bool IsVector(const Term& term) {
  if (const auto* slice = std::get_if<Slice>(&term)) return slice->type() != Type::kList;
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_vector();
}

bool IsListTerm(const Term& term) {
  if (const auto* slice = std::get_if<Slice>(&term)) return slice->type() == Type::kList;
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_list();
}

const Builtin* BuiltinOf(const Term& term) {
  const auto* function = std::get_if<Function>(&term);
  const auto* builtin = function == nullptr ? nullptr : std::get_if<const Builtin*>(function);
  return builtin == nullptr ? nullptr : *builtin;
}

// Returns the aggregate whose value over nothing is the identity of the folded function.
const Builtin* IdentityFor(const Derived& derived, std::span<const Term> args) {
  const Builtin* const inner = BuiltinOf(derived.inner);
  const bool folds = derived.iterator == Iterator::kOver || derived.iterator == Iterator::kScan;
  if (!folds || inner == nullptr || args.size() != 1) return nullptr;
  const auto* const slice = std::get_if<Slice>(&args[0]);
  const auto* const value = std::get_if<Value>(&args[0]);
  const bool list = IsListTerm(args[0]);
  if (!list && !IsVector(args[0])) return nullptr;
  if ((slice != nullptr ? slice->count() : value->count()) > 0) return nullptr;
  if (inner->name == "+" || inner->name == "-") return FindBuiltin("sum");
  if (inner->name == "*") return FindBuiltin("prd");
  if (!list && inner->name == "|") return FindBuiltin("max");
  if (!list && inner->name == "&") return FindBuiltin("min");
  return nullptr;
}

const Builtin* ShortcutFor(const Derived& derived, std::span<const Term> args) {
  const Builtin* const inner = BuiltinOf(derived.inner);
  if (inner == nullptr || args.size() != 1) return nullptr;
  // `,/` is raze, whatever its items are.
  if (derived.iterator == Iterator::kOver && inner->name == ",") return FindBuiltin("raze");
  if (!IsVector(args[0])) return nullptr;
  const auto found = std::ranges::find_if(kShortcuts, [&](const Shortcut& shortcut) {
    return shortcut.iterator == derived.iterator && shortcut.of == inner->name;
  });
  return found == std::end(kShortcuts) ? nullptr : FindBuiltin(found->builtin);
}

// The results of the steps, which are charged until they are returned.
class Results {
 public:
  explicit Results(Budget& budget) : budget_(budget) {}
  absl::Status Add(const Term& term) {
    TS_ASSIGN_OR_RETURN(Value value, [&] {
      const Budget::Temporaries temporaries(budget_);
      return ToValue(term, budget_);
    }());
    TS_RETURN_IF_ERROR(budget_.Charge(value.is_atom() ? sizeof(Value) : ApproximateBytes(value)));
    values_.push_back(std::move(value));
    return absl::OkStatus();
  }
  absl::StatusOr<Value> Collect() && { return CollectItems(std::move(values_), budget_); }

 private:
  Budget& budget_;
  std::vector<Value> values_;
};

// Makes one step: applies f to `args` and drops its temporaries.
absl::StatusOr<Term> Step(Context& context, const Term& f, std::span<Term> args) {
  TS_RETURN_IF_ERROR(context.budget.CheckTime());
  return ApplyTerm(context, f, args);
}

// Returns the common count of the sides that have items.
absl::StatusOr<std::optional<size_t>> CommonCount(std::span<const ItemTerms> sides) {
  std::optional<size_t> count;
  for (const ItemTerms& side : sides) {
    if (side.is_atom()) continue;
    if (count.has_value() && *count != side.count()) {
      return LengthError("{} items and {}", *count, side.count());
    }
    count = side.count();
  }
  return count;
}

absl::StatusOr<std::vector<ItemTerms>> SidesOf(std::span<Term> args, Budget& budget) {
  std::vector<ItemTerms> sides;
  for (Term& arg : args) {
    TS_ASSIGN_OR_RETURN(ItemTerms side, ItemTerms::Of(std::move(arg), budget));
    sides.push_back(std::move(side));
  }
  return sides;
}

// Returns the sides with the items of dictionaries matched by their keys.
absl::StatusOr<std::vector<ItemTerms>> AlignedSidesOf(std::span<Term> args, Budget& budget) {
  TS_ASSIGN_OR_RETURN(std::vector<ItemTerms> sides, SidesOf(args, budget));
  TS_RETURN_IF_ERROR(ItemTerms::AlignKeys(sides, budget));
  return sides;
}

Value WithKeys(std::span<const ItemTerms> sides, Value items) {
  for (const ItemTerms& side : sides) {
    if (!side.keys().has_value()) continue;
    return Value::Pair(Type::kDict, Attribute::kNone, *side.keys(), std::move(items));
  }
  return items;
}

absl::StatusOr<Term> EachOf(Context& context, const Term& f, std::span<const ItemTerms> sides) {
  TS_ASSIGN_OR_RETURN(const std::optional<size_t> count, CommonCount(sides));
  std::vector<Term> args(sides.size());
  const auto step = [&](size_t i) -> absl::StatusOr<Term> {
    for (size_t side = 0; side < sides.size(); ++side) {
      TS_ASSIGN_OR_RETURN(args[side], sides[side].At(i));
    }
    return Step(context, f, args);
  };
  if (!count.has_value()) return step(0);
  Results results(context.budget);
  for (size_t i = 0; i < *count; ++i) {
    TS_ASSIGN_OR_RETURN(const Term result, [&] {
      const Budget::Temporaries temporaries(context.budget);
      return step(i);
    }());
    TS_RETURN_IF_ERROR(results.Add(result));
  }
  TS_ASSIGN_OR_RETURN(Value items, std::move(results).Collect());
  return Term(WithKeys(sides, std::move(items)));
}

bool IsWhole(Type type) {
  return type == Type::kLong || type == Type::kInt || type == Type::kShort;
}

// Returns whether it is a vector of whole numbers that picks from several arguments.
bool PicksArguments(const Derived& derived, std::span<const Term> args) {
  if (derived.iterator != Iterator::kEach || args.size() < 2) return false;
  if (const auto* slice = std::get_if<Slice>(&derived.inner)) return IsWhole(slice->type());
  const auto* value = std::get_if<Value>(&derived.inner);
  return value != nullptr && value->is_vector() && IsWhole(value->type());
}

// x'[a;b;...]: takes item i from the argument with the number x[i].
absl::StatusOr<Term> PickByCase(Context& context, const Term& x, std::span<Term> args) {
  TS_ASSIGN_OR_RETURN(const Value cases, ToValue(x, context.budget));
  TS_ASSIGN_OR_RETURN(const std::vector<ItemTerms> sides, SidesOf(args, context.budget));
  TS_ASSIGN_OR_RETURN(const std::optional<size_t> count, CommonCount(sides));
  if (count.has_value() && *count != cases.count()) {
    return LengthError("{} items for {} cases", *count, cases.count());
  }
  const Value* keys = nullptr;
  for (const ItemTerms& side : sides) {
    if (!side.keys().has_value()) continue;
    if (keys != nullptr && !Match(*keys, *side.keys())) {
      return DomainError("dictionaries with other keys");
    }
    keys = &*side.keys();
  }
  Results results(context.budget);
  for (size_t i = 0; i < cases.count(); ++i) {
    TS_RETURN_IF_ERROR(context.budget.CheckTime());
    const int64_t side = *IndexOf(ItemAt(cases, i));
    if (side < 0 || static_cast<uint64_t>(side) >= sides.size()) {
      return LengthError("case {} of {} arguments", side, sides.size());
    }
    const ItemTerms& from = sides[static_cast<size_t>(side)];
    TS_ASSIGN_OR_RETURN(const Term item, from.At(from.is_atom() ? 0 : i));
    TS_RETURN_IF_ERROR(results.Add(item));
  }
  TS_ASSIGN_OR_RETURN(Value items, std::move(results).Collect());
  return Term(std::move(items));
}

// Folds the items into `state`; with `results`, adds each state to them.
absl::StatusOr<Term> Fold(Context& context, const Term& f, Term seed,
                          std::span<const ItemTerms> sides, size_t begin, Results* results) {
  TS_ASSIGN_OR_RETURN(const std::optional<size_t> count, CommonCount(sides));
  HeldTerm state(context.budget);
  TS_RETURN_IF_ERROR(state.Set(std::move(seed)));
  std::vector<Term> args(sides.size() + 1);
  for (size_t i = begin; i < count.value_or(1); ++i) {
    {
      const Budget::Temporaries temporaries(context.budget);
      args[0] = state.term();
      for (size_t side = 0; side < sides.size(); ++side) {
        TS_ASSIGN_OR_RETURN(args[side + 1], sides[side].At(i));
      }
      TS_ASSIGN_OR_RETURN(Term next, Step(context, f, args));
      TS_RETURN_IF_ERROR(state.Set(std::move(next)));
    }
    if (results != nullptr) TS_RETURN_IF_ERROR(results->Add(state.term()));
  }
  TS_ASSIGN_OR_RETURN(const Budget::Amount bytes, CheckedBytes(state.term()));
  TS_RETURN_IF_ERROR(context.budget.Charge(bytes));
  return std::move(state).Release();
}

bool IsJoin(const Term& f) {
  const Builtin* const builtin = BuiltinOf(f);
  return builtin != nullptr && builtin->name == ",";
}

// Returns an atom as a vector of one, because joining needs a list.
Term AsItems(Term term) {
  auto* const value = std::get_if<Value>(&term);
  if (value == nullptr || !value->is_atom()) return term;
  return Enlist(std::move(*value));
}

// Applies f/ and f\ for f of two or more arguments.
absl::StatusOr<Term> Accumulate(Context& context, const Derived& derived, std::span<Term> args) {
  const bool scan = derived.iterator == Iterator::kScan;
  const bool seeded = args.size() > 1;
  TS_ASSIGN_OR_RETURN(const std::vector<ItemTerms> sides,
                      AlignedSidesOf(seeded ? args.subspan(1) : args, context.budget));
  TS_ASSIGN_OR_RETURN(const std::optional<size_t> count, CommonCount(sides));
  if (!seeded) {
    if (!count.has_value()) return sides[0].At(0);
    if (*count == 0) return Term(Value::List({}));
  }
  Results results(context.budget);
  Term seed = Value();
  if (seeded) {
    seed = std::move(args[0]);
  } else {
    TS_ASSIGN_OR_RETURN(seed, sides[0].At(0));
    if (IsJoin(derived.inner)) seed = AsItems(std::move(seed));
    if (scan) TS_RETURN_IF_ERROR(results.Add(seed));
  }
  TS_ASSIGN_OR_RETURN(Term last, Fold(context, derived.inner, std::move(seed), sides,
                                      seeded ? 0 : 1, scan ? &results : nullptr));
  if (!scan || !count.has_value()) return last;
  TS_ASSIGN_OR_RETURN(Value items, std::move(results).Collect());
  return Term(WithKeys(sides, std::move(items)));
}

// The condition of a loop: `steps` left, or what `test` says of the state.
class Repetition {
 public:
  static absl::StatusOr<Repetition> Of(Term until, Budget& budget) {
    if (const auto* value = std::get_if<Value>(&until); value != nullptr && value->is_atom()) {
      const std::optional<int64_t> steps = IndexOf(*value);
      if (steps.has_value()) return Repetition(*steps, std::nullopt);
    }
    TS_ASSIGN_OR_RETURN(std::optional<Function> test, AsFunction(until, budget));
    if (test.has_value()) until = *std::move(test);
    return Repetition(0, std::move(until));
  }
  absl::StatusOr<bool> Continues(Context& context, const Term& state) {
    if (!test_.has_value()) {
      if (steps_ <= 0) return false;  // A null is below zero as well.
      --steps_;
      return true;
    }
    Term arg = state;
    TS_ASSIGN_OR_RETURN(Term term, ApplyTerm(context, *test_, std::span(&arg, 1)));
    TS_ASSIGN_OR_RETURN(const Value flag, ToValue(std::move(term), context.budget));
    return IsTrue(flag);
  }

 private:
  Repetition(int64_t steps, std::optional<Term> test) : steps_(steps), test_(std::move(test)) {}
  int64_t steps_;
  std::optional<Term> test_;
};

// Applies f/ and f\ for f of one argument, as long as `repetition` says; without it, until the
// state stays the same.
absl::StatusOr<Term> Iterate(Context& context, const Derived& derived,
                             std::optional<Repetition> repetition, Term x) {
  Budget& budget = context.budget;
  const bool scan = derived.iterator == Iterator::kScan;
  Results results(budget);
  HeldTerm state(budget);
  TS_RETURN_IF_ERROR(state.Set(std::move(x)));
  std::optional<Value> first;
  if (!repetition.has_value()) {
    TS_ASSIGN_OR_RETURN(first, ToValue(state.term(), budget));
  }
  if (scan) TS_RETURN_IF_ERROR(results.Add(state.term()));
  for (;;) {
    {
      const Budget::Temporaries temporaries(budget);
      TS_RETURN_IF_ERROR(budget.CheckTime());
      if (repetition.has_value()) {
        TS_ASSIGN_OR_RETURN(const bool more, repetition->Continues(context, state.term()));
        if (!more) break;
      }
      Term arg = state.term();
      TS_ASSIGN_OR_RETURN(Term next, Step(context, derived.inner, std::span(&arg, 1)));
      if (!repetition.has_value()) {
        TS_ASSIGN_OR_RETURN(const Value after, ToValue(next, budget));
        TS_ASSIGN_OR_RETURN(const Value before, ToValue(state.term(), budget));
        if (Match(after, before) || Match(after, *first)) break;
      }
      TS_RETURN_IF_ERROR(state.Set(std::move(next)));
    }
    if (scan) TS_RETURN_IF_ERROR(results.Add(state.term()));
  }
  if (scan) {
    TS_ASSIGN_OR_RETURN(Value items, std::move(results).Collect());
    return Term(std::move(items));
  }
  TS_ASSIGN_OR_RETURN(const Budget::Amount bytes, CheckedBytes(state.term()));
  TS_RETURN_IF_ERROR(budget.Charge(bytes));
  return std::move(state).Release();
}

// Returns whether it is applied to two arguments, as a function of two and as a matrix are: a list
// of lists or of dictionaries, a dictionary of these, or a table.
bool TakesTwo(const Term& inner) {
  if (!IsData(inner)) return RankOfTerm(inner) > 1;
  if (std::holds_alternative<TableView>(inner)) return true;
  const auto* const slice = std::get_if<Slice>(&inner);
  const Value* value = slice != nullptr ? slice->column.value() : std::get_if<Value>(&inner);
  if (value == nullptr) return false;
  if (value->is_dict()) value = &value->values();
  if (value->is_table()) return true;
  return value->is_list() && value->count() > 0 &&
         std::ranges::none_of(value->items(), &Value::is_atom);
}

absl::StatusOr<Term> ApplyAccumulator(Context& context, const Derived& derived,
                                      std::span<Term> args) {
  // A dictionary of lists, applied to a key, is followed as one argument is.
  const auto* const inner = std::get_if<Value>(&derived.inner);
  const auto* const key = std::get_if<Value>(&args[0]);
  const bool follows =
      args.size() == 1 && inner != nullptr && inner->is_dict() && key != nullptr && key->is_atom();
  if (TakesTwo(derived.inner) && !follows) return Accumulate(context, derived, args);
  if (args.size() == 1) return Iterate(context, derived, std::nullopt, std::move(args[0]));
  if (args.size() > 2) return RankError("{} arguments to iterate with", args.size());
  TS_ASSIGN_OR_RETURN(Repetition repetition, Repetition::Of(std::move(args[0]), context.budget));
  return Iterate(context, derived, std::move(repetition), std::move(args[1]));
}

// Returns the value before the first item: the function's identity if it has one, otherwise a null
// of the item's type.
absl::StatusOr<Term> BeforeFirst(const Term& f, const Term& first) {
  if (const Builtin* const builtin = BuiltinOf(f)) {
    if (builtin->name == "+" || builtin->name == "-") return Term(Value::Long(0));
    if (builtin->name == "*" || builtin->name == "%") return Term(Value::Long(1));
  }
  const auto* value = std::get_if<Value>(&first);
  if (value != nullptr && value->is_atom()) return Term(NullOf(value->type()));
  return Term(Value::List({}));
}

// Operators whose result for two vectors has an item for each pair of items.
constexpr std::string_view kByPair[] = {"+",   "-",   "*",    "%",    "&",  "|",   "=",
                                        "<>",  "<",   ">",    "<=",   ">=", "and", "or",
                                        "div", "mod", "xbar", "xexp", "^"};

// Applies f': to an operator and a vector of several items. It computes the first pair alone,
// because the value before the first item may have another type, and all others at once. nullopt:
// it is another case, and `args` are unchanged.
absl::StatusOr<std::optional<Term>> PairsOfVector(Context& context, const Term& f,
                                                  std::span<Term> args) {
  const Builtin* const builtin = BuiltinOf(f);
  if (builtin == nullptr || std::ranges::find(kByPair, builtin->name) == std::end(kByPair))
    return std::nullopt;
  Term& last = args.back();
  if (!IsVector(last)) return std::nullopt;
  if (args.size() == 2) {
    const auto* const value = std::get_if<Value>(&args[0]);
    if (value == nullptr || !value->is_atom()) return std::nullopt;
  }
  if (auto* const value = std::get_if<Value>(&last)) last = Slice::Of(std::move(*value));
  const auto& slice = std::get<Slice>(last);
  const size_t count = slice.count();
  if (count < 2) return std::nullopt;
  TS_ASSIGN_OR_RETURN(Value first_item, slice.At(0));
  const Term first = std::move(first_item);
  TS_ASSIGN_OR_RETURN(Term before,
                      args.size() == 2 ? absl::StatusOr<Term>(args[0]) : BeforeFirst(f, first));
  Term first_pair[] = {first, std::move(before)};
  TS_ASSIGN_OR_RETURN(const Term of_first, Step(context, f, first_pair));
  const auto part = [&](size_t skip) {
    return Slice{slice.column, std::make_shared<RowSet>(slice.rows->Slice(skip, count - 1))};
  };
  Term pairs[] = {part(1), part(0)};
  TS_ASSIGN_OR_RETURN(const Term others, Step(context, f, pairs));
  TS_ASSIGN_OR_RETURN(const Value head, ToValue(of_first, context.budget));
  TS_ASSIGN_OR_RETURN(const Value tail, ToValue(others, context.budget));
  TS_ASSIGN_OR_RETURN(Value all, Join(head, tail, context.budget));
  return Term(std::move(all));
}

absl::StatusOr<Term> EachPrior(Context& context, const Derived& derived, std::span<Term> args) {
  if (args.size() > 2) return RankError("{} arguments for ':", args.size());
  TS_ASSIGN_OR_RETURN(std::optional<Term> pairs, PairsOfVector(context, derived.inner, args));
  if (pairs.has_value()) return *std::move(pairs);
  TS_ASSIGN_OR_RETURN(const ItemTerms items, ItemTerms::Of(std::move(args.back()), context.budget));
  if (items.is_atom()) return items.At(0);
  std::optional<Term> before;
  if (args.size() == 2) before = std::move(args[0]);
  Results results(context.budget);
  for (size_t i = 0; i < items.count(); ++i) {
    TS_ASSIGN_OR_RETURN(Term item, items.At(i));
    if (!before.has_value() && IsJoin(derived.inner)) {
      TS_RETURN_IF_ERROR(results.Add(item));  // The first item has nothing to be joined with.
      before = std::move(item);
      continue;
    }
    if (!before.has_value()) {
      TS_ASSIGN_OR_RETURN(before, BeforeFirst(derived.inner, item));
    }
    Term pair[] = {item, *std::exchange(before, std::nullopt)};
    TS_ASSIGN_OR_RETURN(const Term result, [&] {
      const Budget::Temporaries temporaries(context.budget);
      return Step(context, derived.inner, pair);
    }());
    TS_RETURN_IF_ERROR(results.Add(result));
    before = std::move(item);
  }
  TS_ASSIGN_OR_RETURN(Value collected, std::move(results).Collect());
  return Term(WithKeys(std::span(&items, 1), std::move(collected)));
}

// x f\: y and x f/: y: applies f to each item of one side and all of the other.
absl::StatusOr<Term> EachSide(Context& context, const Derived& derived, std::span<Term> args) {
  if (args.size() != 2)
    return RankError("{} arguments for {}", args.size(), TextOf(derived.iterator));
  const size_t side = derived.iterator == Iterator::kEachLeft ? 0 : 1;
  TS_ASSIGN_OR_RETURN(const ItemTerms items, ItemTerms::Of(std::move(args[side]), context.budget));
  // All steps share the other side.
  Term whole = std::move(args[1 - side]);
  if (auto* value = std::get_if<Value>(&whole);
      value != nullptr && (value->is_vector() || value->is_list())) {
    whole = Slice::Of(std::move(*value));
  }
  const auto step = [&](size_t i) -> absl::StatusOr<Term> {
    Term pair[2];
    TS_ASSIGN_OR_RETURN(pair[side], items.At(i));
    pair[1 - side] = whole;
    return Step(context, derived.inner, pair);
  };
  if (items.is_atom()) return step(0);
  Results results(context.budget);
  for (size_t i = 0; i < items.count(); ++i) {
    TS_ASSIGN_OR_RETURN(const Term result, [&] {
      const Budget::Temporaries temporaries(context.budget);
      return step(i);
    }());
    TS_RETURN_IF_ERROR(results.Add(result));
  }
  TS_ASSIGN_OR_RETURN(Value collected, std::move(results).Collect());
  return Term(WithKeys(std::span(&items, 1), std::move(collected)));
}

}  // namespace

absl::StatusOr<Term> ApplyEach(Context& context, const Term& f, std::span<Term> args) {
  TS_ASSIGN_OR_RETURN(const std::vector<ItemTerms> sides, AlignedSidesOf(args, context.budget));
  return EachOf(context, f, sides);
}

namespace {

// Returns whether it is t,'u of two tables without keys, which joins their columns.
bool JoinsColumns(const Derived& derived, std::span<const Term> args) {
  const Builtin* const inner = BuiltinOf(derived.inner);
  return derived.iterator == Iterator::kEach && inner != nullptr && inner->name == "," &&
         args.size() == 2 && std::ranges::all_of(args, [](const Term& arg) {
           const auto* const view = std::get_if<TableView>(&arg);
           return view != nullptr && view->key_columns == 0;
         });
}

}  // namespace

absl::StatusOr<Term> ApplyDerived(Context& context, const Derived& derived, std::span<Term> args) {
  if (const Builtin* const aggregate = IdentityFor(derived, args)) {
    return Apply(context, *aggregate, args);
  }
  if (const Builtin* const builtin = ShortcutFor(derived, args)) {
    return Apply(context, *builtin, args);
  }
  if (JoinsColumns(derived, args)) {
    TS_ASSIGN_OR_RETURN(TableView both, SideBySide(std::get<TableView>(args[0]),
                                                   std::get<TableView>(args[1]), context.budget));
    return Term(std::move(both));
  }
  switch (derived.iterator) {
    case Iterator::kEach:
      if (PicksArguments(derived, args)) return PickByCase(context, derived.inner, args);
      return ApplyEach(context, derived.inner, args);
    case Iterator::kOver:
    case Iterator::kScan:
      return ApplyAccumulator(context, derived, args);
    case Iterator::kPrior:
      // A function of one argument makes it `peach`.
      if (!TakesTwo(derived.inner)) return ApplyEach(context, derived.inner, args);
      return EachPrior(context, derived, args);
    case Iterator::kEachLeft:
    case Iterator::kEachRight:
      if (args.size() == 1 && IsData(derived.inner)) {
        const bool splits = derived.iterator == Iterator::kEachLeft;
        Term both[] = {derived.inner, std::move(args[0])};
        return Apply(context, *FindBuiltin(splits ? "vs" : "sv"), both);
      }
      return EachSide(context, derived, args);
  }
  return NyiError(TextOf(derived.iterator));
}

}  // namespace tickstack::query
