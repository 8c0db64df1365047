// Apply and iterate: `@` and `.` with their traps and amends, compositions, and the iterators'
// words.

#include <array>
#include <iterator>
#include <optional>
#include <vector>

#include "query/language/amend.h"
#include "query/language/builtins.h"
#include "query/language/client_handle.h"
#include "query/language/functions.h"
#include "query/language/iterators.h"
#include "query/language/variables.h"

namespace tickstack::query::builtins {
namespace {

bool IsSymbol(const Term& term) {
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_atom_of(Type::kSymbol);
}

absl::StatusOr<bool> IsFunctionTerm(const Term& term, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const std::optional<Function> function, AsFunction(term, budget));
  return function.has_value();
}

// Returns whether the term is applied: a function, or the handle of the client.
absl::StatusOr<bool> IsApplied(Context& context, const Term& term) {
  if (IsHandle(context, term) || IsConsole(term)) return true;
  return IsFunctionTerm(term, context.budget);
}

bool IsAssignment(const Term& f) {
  const auto* function = std::get_if<Function>(&f);
  const auto* builtin = function == nullptr ? nullptr : std::get_if<const Builtin*>(function);
  return builtin != nullptr && (*builtin)->name == ":";
}

absl::StatusOr<std::vector<Term>> ArgumentsOf(const Value& list, Budget& budget) {
  TS_ASSIGN_OR_RETURN(std::vector<Value> items, ItemsOfList(list, kMaxParameters, budget));
  if (items.empty()) return std::vector<Term>{Value()};  // f[]
  return std::vector<Term>(std::make_move_iterator(items.begin()),
                           std::make_move_iterator(items.end()));
}

// Applies f to args. On an error, returns `otherwise`, or applies it to the error's text if it is a
// function. Running out of time cannot be trapped.
Result Trap(Context& context, const Term& f, std::span<Term> args, Term otherwise) {
  Result result = KeepingResult(context.budget, [&] { return ApplyTerm(context, f, args); });
  if (result.ok() || QErrorText(result.status()) == "stop") return result;
  TS_ASSIGN_OR_RETURN(const bool handler, IsFunctionTerm(otherwise, context.budget));
  const auto* const value = std::get_if<Value>(&otherwise);
  const bool identity = value != nullptr && value->is_null();
  context.variables.request().ForgetTrace();
  if (!handler && !identity) return otherwise;
  Term text = Value::String(QErrorText(result.status()));
  if (identity) return text;
  return ApplyTerm(context, std::move(otherwise), std::span(&text, 1));
}

// Returns x with changed items; if x is the name of a variable, changes that.
Result AmendTerm(Context& context, Term& x, std::span<const Value> indices, Args how) {
  TS_ASSIGN_OR_RETURN(const Term f, Shared(std::move(how[0]), context.budget));
  Change change;
  if (how.size() == 2) {
    TS_ASSIGN_OR_RETURN(change.y, Take(context, how[1]));
  }
  if (how.size() == 1 || !IsAssignment(f)) change.f = &f;
  if (IsSymbol(x)) {
    TS_RETURN_IF_ERROR(AmendVariable(context, std::get<Value>(x).symbol(), indices, change));
    return std::move(x);
  }
  TS_ASSIGN_OR_RETURN(Value value, Take(context, x));
  TS_RETURN_IF_ERROR(AmendDeep(context, value, indices, change));
  return value;
}

Result At(Context& context, Args args) {
  if (args.size() == 2) return ApplyTerm(context, std::move(args[0]), args.subspan(1));
  TS_ASSIGN_OR_RETURN(const bool function, IsApplied(context, args[0]));
  if (function && args.size() == 3) {
    return Trap(context, args[0], args.subspan(1, 1), std::move(args[2]));
  }
  TS_ASSIGN_OR_RETURN(const Value index, Take(context, args[1]));
  return AmendTerm(context, args[0], std::span(&index, 1), args.subspan(2));
}

Result Dot(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value list, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const bool function, IsApplied(context, args[0]));
  if (args.size() == 2) {
    if (!function && list.count() == 0) return std::move(args[0]);
    TS_ASSIGN_OR_RETURN(std::vector<Term> arguments, ArgumentsOf(list, context.budget));
    return ApplyTerm(context, std::move(args[0]), arguments);
  }
  if (function && args.size() == 3) {
    TS_ASSIGN_OR_RETURN(std::vector<Term> arguments, ArgumentsOf(list, context.budget));
    return Trap(context, args[0], arguments, std::move(args[2]));
  }
  TS_ASSIGN_OR_RETURN(const std::vector<Value> indices,
                      ItemsOfList(list, SIZE_MAX, context.budget));
  return AmendTerm(context, args[0], indices, args.subspan(2));
}

// `:` as a function returns its right argument. Amending with it replaces.
Result Right(Context&, Args args) { return std::move(args[1]); }

Result Compose(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(std::optional<Function> inner, AsFunction(args[1], context.budget));
  if (!inner.has_value()) return TypeError("a composition with what is no function");
  TS_ASSIGN_OR_RETURN(Term outer, Shared(std::move(args[0]), context.budget));
  TS_ASSIGN_OR_RETURN(Function composed, MakeComposition(std::move(outer), *std::move(inner)));
  return Term(std::move(composed));
}

// f each x and the like: the iterators by their names.
template <Iterator iterator>
Result Iterated(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(Term f, Shared(std::move(args[0]), context.budget));
  if (iterator == Iterator::kEach) return ApplyEach(context, f, args.subspan(1));
  TS_ASSIGN_OR_RETURN(const Function derived, MakeDerived(iterator, std::move(f)));
  return ApplyFunction(context, derived, args.subspan(1));
}

// `.Q.trp[f;x;g]`: applies f to x; on an error, applies g to the text and the backtrace.
Result TrapWithTrace(Context& context, Args args) {
  const Term f = args[0];
  absl::StatusOr<Term> result =
      KeepingResult(context.budget, [&] { return ApplyTerm(context, f, args.subspan(1, 1)); });
  if (result.ok() || QErrorText(result.status()) == "stop") return result;
  TS_ASSIGN_OR_RETURN(Value trace, context.variables.request().TakeTrace(".Q.trp", context.budget));
  Term handed[] = {Value::String(QErrorText(result.status())), std::move(trace)};
  return ApplyTerm(context, std::move(args[2]), handed);
}

Result TrapListWithTrace(Context& context, Args args) {
  Term given[] = {std::move(args[0]), std::move(args[1])};
  absl::StatusOr<Term> result =
      KeepingResult(context.budget, [&] { return Apply(context, *FindBuiltin("."), given); });
  if (result.ok() || QErrorText(result.status()) == "stop") return result;
  TS_ASSIGN_OR_RETURN(Value trace,
                      context.variables.request().TakeTrace(".Q.trpd", context.budget));
  Term handed[] = {Value::String(QErrorText(result.status())), std::move(trace)};
  return ApplyTerm(context, std::move(args[2]), handed);
}

constexpr std::array kIterateTable = {
    Builtin{"@", 2, 4, true, At, true},
    Builtin{".", 2, 4, true, Dot, true},
    Builtin{":", 2, 2, true, Right, true},
    Builtin{"'", 2, 2, false, Compose},
    Builtin{"each", 2, 2, true, Iterated<Iterator::kEach>, true},
    Builtin{"peach", 2, 2, true, Iterated<Iterator::kEach>, true},
    Builtin{"over", 2, 2, true, Iterated<Iterator::kOver>, true},
    Builtin{"scan", 2, 2, true, Iterated<Iterator::kScan>, true},
    Builtin{"prior", 2, 2, true, Iterated<Iterator::kPrior>, true},
    Builtin{".Q.trp", 3, 3, false, TrapWithTrace},
    Builtin{".Q.trpd", 3, 3, false, TrapListWithTrace},
};

}  // namespace

// Returns the items of an argument list. Errors: `rank` for more than `max_items`, before any is
// copied.
absl::StatusOr<std::vector<Value>> ItemsOfList(const Value& list, size_t max_items,
                                               Budget& budget) {
  if (list.is_table()) {  // A list of dictionaries with the same names is one.
    if (list.count() > max_items) return RankError("{} arguments", list.count());
    TS_ASSIGN_OR_RETURN(const TableView view, ViewOf(list));
    std::vector<Value> rows;
    for (size_t i = 0; i < list.count(); ++i) {
      TS_ASSIGN_OR_RETURN(rows.emplace_back(), RowAt(view, static_cast<uint32_t>(i)));
    }
    return rows;
  }
  if (!list.is_vector() && !list.is_list()) {
    return TypeError("a {} where a list of arguments is expected", NameOf(list.type()));
  }
  if (list.count() > max_items) return RankError("{} arguments", list.count());
  TS_RETURN_IF_ERROR(budget.ChargeItems(list.count()));
  std::vector<Value> items;
  for (size_t i = 0; i < list.count(); ++i) items.push_back(ItemAt(list, i));
  return items;
}

std::span<const Builtin> IterateFunctions() { return kIterateTable; }

}  // namespace tickstack::query::builtins
