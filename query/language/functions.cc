#include "query/language/functions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/language/ast.h"
#include "query/language/client_handle.h"
#include "query/language/evaluator.h"
#include "query/language/function_value.h"
#include "query/language/indexing.h"
#include "query/language/iterators.h"
#include "query/language/variables.h"

namespace tickstack::query {
namespace {

constexpr auto& kIterators = kIteratorPrimitives;

int DepthOf(const Term& term);

int DepthOf(const Function& function) {
  if (const auto* projection = std::get_if<std::shared_ptr<const Projection>>(&function)) {
    return (*projection)->depth;
  }
  if (const auto* derived = std::get_if<std::shared_ptr<const Derived>>(&function)) {
    return (*derived)->depth;
  }
  const auto* composed = std::get_if<std::shared_ptr<const Composition>>(&function);
  return composed != nullptr ? (*composed)->depth : 1;
}

int DepthOf(const Term& term) {
  const auto* function = std::get_if<Function>(&term);
  return function == nullptr ? 0 : DepthOf(*function);
}

template <typename F>
absl::StatusOr<Function> Checked(F function, int below) {
  function.depth = below + 1;
  if (function.depth > kMaxFunctionDepth) {
    return StackError("functions of functions more than {} deep", kMaxFunctionDepth);
  }
  return Function(std::make_shared<const F>(std::move(function)));
}

// Calls a lambda. At its end, returns what it charged, except for its result.
absl::StatusOr<Term> CallLambda(Context& context, const std::shared_ptr<const Lambda>& lambda,
                                std::span<Term> args) {
  Budget& budget = context.budget;
  TS_RETURN_IF_ERROR(budget.CheckTime());
  const Budget::Level level(budget);
  TS_RETURN_IF_ERROR(level.Check());
  absl::StatusOr<Term> result = KeepingResult(budget, [&]() -> absl::StatusOr<Term> {
    Frame frame(budget, &lambda);
    for (size_t i = 0; i < args.size() && i < lambda->parameters.size(); ++i) {
      TS_RETURN_IF_ERROR(frame.Bind(lambda->parameters[i], std::move(args[i])));
    }
    Variables variables(context.variables, frame);
    Context inner{context.environment, budget, variables};
    return EvaluateStatements(inner, lambda->statements);
  });
  if (!result.ok()) context.variables.request().AddToTrace(lambda->source);
  return result;
}

absl::StatusOr<Term> CallProjection(Context& context, const Projection& projection,
                                    std::span<Term> args) {
  std::vector<std::optional<Term>> all = projection.args;
  size_t next = 0;
  for (std::optional<Term>& arg : all) {
    if (!arg.has_value() && next < args.size()) arg = std::move(args[next++]);
  }
  if (next < args.size()) {
    return RankError("{} arguments for a projection that lacks {}", args.size(), next);
  }
  if (std::ranges::any_of(all, [](const auto& arg) { return !arg.has_value(); })) {
    TS_ASSIGN_OR_RETURN(Function again, MakeProjection(projection.function, std::move(all)));
    return Term(std::move(again));
  }
  std::vector<Term> terms;
  for (std::optional<Term>& arg : all) terms.push_back(*std::move(arg));
  return ApplyFunction(context, projection.function, terms);
}

// Calls a function of the process, which takes values.
absl::StatusOr<Term> CallProcess(Context& context, const ProcessFunction& function,
                                 std::span<Term> args) {
  TS_RETURN_IF_ERROR(context.budget.CheckTime());
  std::vector<Value> values;
  for (Term& arg : args) {
    TS_ASSIGN_OR_RETURN(values.emplace_back(), ToValue(std::move(arg), context.budget));
  }
  std::optional<absl::StatusOr<Value>> result = context.environment.Call(function.name, values);
  if (!result.has_value()) return NameError(function.name);
  TS_RETURN_IF_ERROR(result->status());
  return *std::move(*result);
}

absl::StatusOr<Term> CallComposition(Context& context, const Composition& composition,
                                     std::span<Term> args) {
  TS_ASSIGN_OR_RETURN(Term inner, ApplyFunction(context, composition.inner, args));
  return ApplyTerm(context, composition.outer, std::span(&inner, 1));
}

// Makes a projection of the given arguments, with places for the missing ones.
absl::StatusOr<Term> ProjectRest(const Function& function, std::span<Term> args) {
  std::vector<std::optional<Term>> all(RankOf(function));
  std::ranges::move(args, all.begin());
  TS_ASSIGN_OR_RETURN(Function projection, MakeProjection(function, std::move(all)));
  return Term(std::move(projection));
}

size_t MostOf(const Function& function) {
  if (const auto* builtin = std::get_if<const Builtin*>(&function)) return (*builtin)->max_args;
  if (const auto* lambda = std::get_if<std::shared_ptr<const Lambda>>(&function)) {
    return std::max<size_t>(1, (*lambda)->parameters.size());
  }
  return kMaxParameters;
}

}  // namespace

Lambda::Lambda() = default;
Lambda::~Lambda() = default;

std::string_view TextOf(Iterator iterator) { return kIterators[static_cast<size_t>(iterator)]; }

std::optional<Iterator> FindIterator(std::string_view text) {
  const auto found = std::ranges::find(kIterators, text);
  if (found == kIterators.end()) return std::nullopt;
  return static_cast<Iterator>(found - kIterators.begin());
}

size_t RankOf(const Function& function) {
  if (const auto* builtin = std::get_if<const Builtin*>(&function)) return (*builtin)->min_args;
  if (const auto* projection = std::get_if<std::shared_ptr<const Projection>>(&function)) {
    return static_cast<size_t>(std::ranges::count_if(
        (*projection)->args, [](const auto& arg) { return !arg.has_value(); }));
  }
  if (const auto* derived = std::get_if<std::shared_ptr<const Derived>>(&function)) {
    switch ((*derived)->iterator) {
      case Iterator::kEach:
        return RankOfTerm((*derived)->inner);
      case Iterator::kEachLeft:
      case Iterator::kEachRight:
        return IsData((*derived)->inner) ? 1 : 2;  // Data alone splits or joins, as vs and sv do.
      case Iterator::kOver:
      case Iterator::kScan:
      case Iterator::kPrior:
        break;
    }
    return 1;
  }
  if (const auto* composed = std::get_if<std::shared_ptr<const Composition>>(&function)) {
    return RankOf((*composed)->inner);
  }
  if (std::holds_alternative<std::shared_ptr<const ProcessFunction>>(function)) return 1;
  return MostOf(function);
}

bool IsData(const Term& term) {
  const auto* const value = std::get_if<Value>(&term);
  if (value != nullptr) return !value->is_function();
  return !std::holds_alternative<Function>(term);
}

size_t RankOfTerm(const Term& term) {
  const auto* function = std::get_if<Function>(&term);
  return function == nullptr ? 1 : RankOf(*function);
}

absl::StatusOr<Function> MakeProjection(Function function, std::vector<std::optional<Term>> args) {
  int below = DepthOf(function);
  for (const std::optional<Term>& arg : args) {
    if (arg.has_value()) below = std::max(below, DepthOf(*arg));
  }
  return Checked(Projection{std::move(function), std::move(args)}, below);
}

absl::StatusOr<Function> MakeDerived(Iterator iterator, Term inner) {
  const int below = DepthOf(inner);
  return Checked(Derived{iterator, std::move(inner)}, below);
}

absl::StatusOr<Function> MakeComposition(Term outer, Function inner) {
  const int below = std::max(DepthOf(outer), DepthOf(inner));
  return Checked(Composition{std::move(outer), std::move(inner)}, below);
}

absl::StatusOr<std::optional<Function>> AsFunction(const Term& term, Budget& budget) {
  if (const auto* function = std::get_if<Function>(&term)) return *function;
  const auto* value = std::get_if<Value>(&term);
  if (value == nullptr || !value->is_function() || value->is_null()) return std::nullopt;
  TS_ASSIGN_OR_RETURN(Function function, FunctionOf(*value, budget));
  return function;
}

absl::StatusOr<Term> Apply(Context& context, const Builtin& builtin, std::span<Term> args) {
  TS_RETURN_IF_ERROR(context.budget.CheckTime());
  if (args.size() > builtin.max_args) {
    return RankError("{} arguments for {}, which takes {}", args.size(), builtin.name,
                     builtin.max_args);
  }
  if (args.size() < builtin.min_args) return ProjectRest(&builtin, args);
  return builtin.apply(context, args);
}

absl::StatusOr<Term> ApplyFunction(Context& context, const Function& function,
                                   std::span<Term> args) {
  if (const auto* builtin = std::get_if<const Builtin*>(&function)) {
    return Apply(context, **builtin, args);
  }
  const size_t most = MostOf(function);
  if (args.size() > most) return RankError("{} arguments, at most {}", args.size(), most);
  const Budget::Level level(context.budget);
  TS_RETURN_IF_ERROR(level.Check());
  if (const auto* projection = std::get_if<std::shared_ptr<const Projection>>(&function)) {
    return CallProjection(context, **projection, args);
  }
  if (const auto* composed = std::get_if<std::shared_ptr<const Composition>>(&function)) {
    return CallComposition(context, **composed, args);
  }
  if (const auto* process = std::get_if<std::shared_ptr<const ProcessFunction>>(&function)) {
    return CallProcess(context, **process, args);
  }
  if (args.size() < RankOf(function)) return ProjectRest(function, args);
  if (const auto* derived = std::get_if<std::shared_ptr<const Derived>>(&function)) {
    return ApplyDerived(context, **derived, args);
  }
  return CallLambda(context, std::get<std::shared_ptr<const Lambda>>(function), args);
}

absl::StatusOr<Term> ApplyTerm(Context& context, Term x, std::span<Term> args) {
  TS_ASSIGN_OR_RETURN(const std::optional<Function> function, AsFunction(x, context.budget));
  if (function.has_value()) return ApplyFunction(context, *function, args);
  if (const auto* value = std::get_if<Value>(&x)) {
    if (value->is_atom_of(Type::kSymbol)) {
      const Budget::Level level(context.budget);  // A name may lead to itself, as a symbol.
      TS_RETURN_IF_ERROR(level.Check());
      return CallName(context, value->symbol(), args);
    }
    // The generic null is the identity.
    if (value->is_null() && args.size() == 1) return std::move(args[0]);
    if (IsHandle(context, x)) return ApplyHandle(context, x, args);
    if (IsConsole(x)) return ApplyConsole(context, x, args);
  }
  std::vector<Value> indices;
  for (Term& arg : args) {
    TS_ASSIGN_OR_RETURN(indices.emplace_back(), ToValue(std::move(arg), context.budget));
  }
  return IndexDeep(context, std::move(x), indices);
}

absl::StatusOr<Term> Project(Context& context, Term x, std::vector<std::optional<Term>> args) {
  TS_ASSIGN_OR_RETURN(std::optional<Function> function, AsFunction(x, context.budget));
  if (const auto* name = std::get_if<Value>(&x);
      name != nullptr && name->is_atom_of(Type::kSymbol)) {
    TS_ASSIGN_OR_RETURN(Term named, FindName(context, name->symbol()));
    TS_ASSIGN_OR_RETURN(function, AsFunction(named, context.budget));
    if (!function.has_value()) x = std::move(named);
  }
  if (function.has_value()) {
    if (args.size() > MostOf(*function)) {
      return RankError("{} arguments, at most {}", args.size(), MostOf(*function));
    }
    if (args.size() < RankOf(*function)) args.resize(RankOf(*function));
    TS_ASSIGN_OR_RETURN(Function projection, MakeProjection(*std::move(function), std::move(args)));
    return Term(std::move(projection));
  }
  std::vector<Term> indices;
  for (std::optional<Term>& arg : args) indices.push_back(std::move(arg).value_or(Term(Value())));
  return ApplyTerm(context, std::move(x), indices);
}

}  // namespace tickstack::query
