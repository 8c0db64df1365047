// Finds what a name refers to: a column of the enclosing query, a variable, a table or other value
// of the process, a function, or a namespace.

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <memory>
#include <optional>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/casts.h"
#include "query/kernels/type_rules.h"
#include "query/language/evaluator.h"
#include "query/language/functions.h"
#include "query/language/library.h"
#include "query/language/namespaces.h"
#include "query/language/parser.h"
#include "query/language/partitions.h"
#include "query/language/process_values.h"
#include "query/language/term.h"
#include "query/language/variables.h"
#include "query/remote/remote_source.h"

namespace tickstack::query {
namespace {

// Returns whether a name is about a partitioned database; without one, such a name is undefined, as
// in q.
bool IsOfPartitions(std::string_view name) {
  constexpr std::array<std::string_view, 12> kNames = {".Q.pf", ".Q.pt", ".Q.pv", ".Q.pn",
                                                       ".Q.PV", ".Q.pd", ".Q.PD", ".Q.P",
                                                       ".Q.D",  ".Q.u",  ".Q.vp", ".Q.MAP"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// True for names in q's own namespaces. Such a name exists in q even if it does not exist here, so
// it is `nyi`, not unknown.
bool IsOfTheLanguage(std::string_view name) {
  return name.size() > 3 && !IsOfPartitions(name) && name[0] == '.' && name[2] == '.' &&
         std::string_view("hjmoQqsz").find(name[1]) != std::string_view::npos;
}

// Returns whether q has this name but this subset has not. The error comes only when the name is
// evaluated, so that a branch that is not taken may have it and a trap catches it.
bool IsMissing(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOperators = {".", "::", "0:", "1:", "2:"};
  return IsOfTheLanguage(name) || IsReservedWord(name) ||
         std::ranges::find(kOperators, name) != kOperators.end();
}

// Returns a function or constant that is written in q, evaluated in the root namespace. That needs
// nothing of the request, so it is done once for all of them.
absl::StatusOr<Term> LibraryTerm(Context& context, const LibraryEntry& entry) {
  static auto* const kTerms = new std::vector<std::atomic<const Term*>>(Library().size());
  std::atomic<const Term*>& term = (*kTerms)[static_cast<size_t>(&entry - Library().data())];
  const Term* made = term.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  const Budget::Level level(context.budget);  // An entry may contain others.
  TS_RETURN_IF_ERROR(level.Check());
  const Limits limits;
  Budget budget(limits);
  TS_ASSIGN_OR_RETURN(const std::vector<NodePtr> statements, ParseInside(entry.source, budget));
  Frame frame(budget, nullptr);
  Variables variables(frame);
  Context root{context.environment, budget, variables};
  TS_ASSIGN_OR_RETURN(Term evaluated, EvaluateStatements(root, statements));
  auto own = std::make_unique<const Term>(std::move(evaluated));
  // Pairs with the load above. The first one to be made stays, as other threads may be copying it.
  if (term.compare_exchange_strong(made, own.get(), std::memory_order_acq_rel)) {
    return *own.release();
  }
  return *made;
}

// Returns whether a name is a word that `.q` lists: a word of q, or an extension such as nbbo.
bool IsWord(std::string_view name) {
  const bool is_operator = name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0;
  return !is_operator &&
         (FindBuiltin(name) != nullptr || (IsReservedWord(name) && FindInLibrary(name) != nullptr));
}

// Returns row numbers inside a query: positions among the rows of its source; for a stored table,
// within the row's partition.
Value VirtualColumn(const Scope& scope) {
  if (scope.view->stored != nullptr) {
    return Value::Vector(Type::kLong,
                         std::span<const int64_t>(RowsInParts(*scope.view->stored, *scope.rows)));
  }
  const ScratchVector<int64_t> positions = scope.rows->PositionsIn(*scope.view->rows);
  return Value::Vector(Type::kLong, std::span<const int64_t>(positions));
}

// Returns whether all atoms of a list are times.
bool HoldsTimes(const Value& list, int depth = 0) {
  if (!list.is_list()) return IsAtomOrVector(list) && IsTemporal(list.type());
  return depth < kMaxListDepth && list.count() > 0 &&
         std::ranges::all_of(list.items(),
                             [&](const Value& item) { return HoldsTimes(item, depth + 1); });
}

// Returns what follows the dot of `time.minute`: a part of the time, or the time as another type.
absl::StatusOr<Value> DottedPart(const Slice& slice, std::string_view name, size_t dot,
                                 Budget& budget) {
  const std::optional<CastTarget> target = FindCastTarget(name.substr(dot + 1));
  const bool part = target.has_value() && (target->part.has_value() || IsTemporal(target->type));
  if (!part) return NyiError(name);
  if (slice.type() == Type::kList) {
    TS_ASSIGN_OR_RETURN(const Value list, Materialise(slice, budget));
    if (list.count() > 0 && !HoldsTimes(list)) return NyiError(name);
  } else if (!IsTemporal(slice.type())) {
    return NyiError(name);
  }
  return CastColumn(slice, *target, budget);
}

absl::StatusOr<std::optional<Term>> FindDottedValue(Context& context, std::string_view name);

// Finds what is before the dot of `t.price` or `d.a.b`: a variable, a table or another value of the
// process, or an entry of one of these.
absl::StatusOr<std::optional<Term>> FindBase(Context& context, std::string_view base) {
  TS_ASSIGN_OR_RETURN(std::optional<Term> found, context.variables.Find(base, context.budget));
  if (found.has_value()) return found;
  if (std::optional<Snapshot> captured = context.environment.FindTable(base)) {
    return Term(ViewOf(*std::move(captured)));
  }
  if (std::optional<Value> value = context.environment.FindValue(base)) {
    return Term(*std::move(value));
  }
  return FindDottedValue(context, base);
}

// Returns the column of a table, or the entry of a dictionary whose keys are names; nullopt if
// there is none.
absl::StatusOr<std::optional<Term>> MemberOf(Context& context, const Term& base,
                                             std::string_view member) {
  if (const auto* const view = std::get_if<TableView>(&base)) {
    const int at = view->Find(member);
    if (at < 0) return std::nullopt;
    TS_ASSIGN_OR_RETURN(Slice named, view->ColumnAt(static_cast<size_t>(at), context.budget));
    return Term(std::move(named));
  }
  const auto* const dict = std::get_if<Value>(&base);
  if (dict != nullptr && (dict->is_table() || dict->is_keyed_table())) {
    TS_ASSIGN_OR_RETURN(TableView view, ViewOf(*dict));
    return MemberOf(context, Term(std::move(view)), member);
  }
  const bool named = dict != nullptr && dict->is_dict() && dict->keys().is(Type::kSymbol) &&
                     IsSequence(dict->values()) && dict->values().count() == dict->keys().count();
  if (!named) return std::nullopt;
  const SymbolVector& keys = dict->keys().symbols();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == member) return Term(ItemAt(dict->values(), i));
  }
  return std::nullopt;
}

// Finds `t.price`, `d.a` and `x.minute`: a column of a table, an entry of a dictionary, or a part
// of a time, where t, d and x are variables or values of the process.
absl::StatusOr<std::optional<Term>> FindDottedValue(Context& context, std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  const std::string_view base = name.substr(0, dot), member = name.substr(dot + 1);
  if (const std::shared_ptr<const RemoteTable> remote = context.environment.FindRemote(base);
      remote != nullptr && !context.variables.Has(base)) {
    return ColumnOf(context, *remote, member);
  }
  const Budget::Level level(context.budget);  // A name may have many dots.
  TS_RETURN_IF_ERROR(level.Check());
  TS_ASSIGN_OR_RETURN(std::optional<Term> found, FindBase(context, base));
  if (!found.has_value()) return std::nullopt;
  TS_ASSIGN_OR_RETURN(std::optional<Term> of_base, MemberOf(context, *found, member));
  if (of_base.has_value()) return of_base;
  const bool items = std::holds_alternative<Slice>(*found);
  const auto* const value = std::get_if<Value>(&*found);
  if (!FindCastTarget(member).has_value()) return std::nullopt;
  if (!items && (value == nullptr || !(value->is_atom() || IsSequence(*value)))) {
    return std::nullopt;
  }
  const bool atom = !items && value->is_atom();
  const Slice slice = items  ? std::get<Slice>(*found)
                      : atom ? Slice::Of(Enlist(*value))
                             : Slice::Of(*value);
  TS_ASSIGN_OR_RETURN(Value part, DottedPart(slice, name, dot, context.budget));
  return Term(atom ? ItemAt(part, 0) : std::move(part));
}

absl::StatusOr<std::optional<Term>> FindInScope(Context& context, std::string_view name) {
  if (context.scope == nullptr) return std::nullopt;
  const Scope& scope = *context.scope;
  if (const int column = scope.view->Find(name); column >= 0) {
    TS_ASSIGN_OR_RETURN(Slice named, scope.view->columns[static_cast<size_t>(column)].SliceAt(
                                         scope.rows, context.budget));
    return Term(std::move(named));
  }
  if (const size_t dot = name.find('.'); dot != std::string_view::npos) {
    const int column = scope.view->Find(name.substr(0, dot));
    if (column >= 0) {
      TS_ASSIGN_OR_RETURN(AnyColumn named,
                          scope.view->columns[static_cast<size_t>(column)].Get(context.budget));
      const Slice slice{std::move(named), scope.rows};
      TS_ASSIGN_OR_RETURN(Value part, DottedPart(slice, name, dot, context.budget));
      return Term(std::move(part));
    }
  }
  if (name != "i") return std::nullopt;
  TS_RETURN_IF_ERROR(context.budget.Charge(scope.rows->count(), 2 * sizeof(int64_t)));
  return Term(VirtualColumn(scope));
}

}  // namespace

absl::StatusOr<std::optional<Term>> FindWholeName(Context& context, std::string_view plain) {
  TS_ASSIGN_OR_RETURN(std::optional<Term> found, FindInScope(context, plain));
  if (found.has_value()) return found;
  if (const std::shared_ptr<const Lambda> view = context.variables.ViewOfName(plain)) {
    Term none = Value();
    TS_ASSIGN_OR_RETURN(Term value, ApplyFunction(context, Function(view), std::span(&none, 1)));
    return value;
  }
  TS_ASSIGN_OR_RETURN(found, context.variables.Find(plain, context.budget));
  if (found.has_value()) return found;
  Environment& environment = context.environment;
  if (plain == ".z.s" && context.variables.locals() != nullptr) {
    return Term(Function(*context.variables.locals()->lambda()));
  }
  if (std::optional<Value> value = FindProcessValue(context, plain)) return Term(*std::move(value));
  if (plain.starts_with(".q.") && IsWord(plain.substr(3))) {
    return FindWholeName(context, plain.substr(3));
  }
  const std::string name = context.variables.Whole(plain);
  if (std::optional<Snapshot> table = environment.FindTable(name)) return Term(ViewOf(*table));
  if (const std::shared_ptr<const StoredTable> stored = environment.FindStored(name)) {
    TS_ASSIGN_OR_RETURN(std::shared_ptr<const StoredParts> parts, AllParts(stored, context.budget));
    return Term(ViewOf(std::move(parts)));
  }
  if (const std::shared_ptr<const RemoteTable> remote = environment.FindRemote(name)) {
    TS_ASSIGN_OR_RETURN(Term rows, AllRowsOf(context, *remote));
    return rows;
  }
  if (std::optional<Value> value = environment.FindValue(name)) return Term(*std::move(value));
  // An operator is not a name: `. is the root, not a function.
  const bool word = plain.size() > 1 || (plain.size() == 1 && std::isalpha(plain[0]) != 0);
  if (const Builtin* builtin = word ? FindBuiltin(plain) : nullptr; builtin != nullptr) {
    return Term(Function(builtin));
  }
  if (const LibraryEntry* const entry = FindInLibrary(name)) {
    TS_ASSIGN_OR_RETURN(Term term, LibraryTerm(context, *entry));
    return term;
  }
  const std::vector<std::string> functions = environment.FunctionNames();
  if (std::ranges::find(functions, name) != functions.end()) {
    return Term(Function(std::make_shared<const ProcessFunction>(ProcessFunction{name})));
  }
  return FindDottedValue(context, plain);
}

absl::StatusOr<Term> FindName(Context& context, std::string_view name) {
  TS_ASSIGN_OR_RETURN(std::optional<Term> found, FindWholeName(context, name));
  if (found.has_value()) return *std::move(found);
  if (name.starts_with('.')) {
    TS_ASSIGN_OR_RETURN(found, FindNamespace(context, name));
    if (found.has_value()) return *std::move(found);
  }
  if (IsMissing(name)) return NyiError(name);
  TS_RETURN_IF_ERROR(context.environment.Refusal(context.variables.Whole(name)));
  return NameError(name);
}

absl::StatusOr<TableView> ToView(Context& context, Term term) {
  if (auto* view = std::get_if<TableView>(&term)) return std::move(*view);
  if (auto* value = std::get_if<Value>(&term)) {
    if (value->is_atom_of(Type::kSymbol)) {
      Context global = context.Outside();
      TS_ASSIGN_OR_RETURN(Term named, FindName(global, value->symbol()));
      if (const auto* again = std::get_if<Value>(&named);
          again != nullptr && again->is_atom_of(Type::kSymbol)) {
        return TypeError("{} is no table", value->symbol());
      }
      return ToView(context, std::move(named));
    }
    return ViewOf(std::move(*value));
  }
  return TypeError("a column or function where a table is expected");
}

}  // namespace tickstack::query
