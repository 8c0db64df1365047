#pragma once

// The parts of functions, for code that applies them or takes them apart. Code that only passes
// them on needs function.h.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/function.h"
#include "query/language/term.h"

namespace tickstack::query {

// f[1;]: the arguments, nullopt for a missing one.
struct Projection {
  Function function;
  std::vector<std::optional<Term>> args;
  int depth = 1;
};

// f/ of a function, or of a list, dictionary or name that is applied as one.
struct Derived {
  Iterator iterator;
  Term inner;
  int depth = 1;
};

// '[f;g]: f applied to the result of g on all arguments.
struct Composition {
  Term outer;
  Function inner;
  int depth = 1;
};

// `stack` if it would be more than kMaxFunctionDepth deep.
absl::StatusOr<Function> MakeProjection(Function function, std::vector<std::optional<Term>> args);
absl::StatusOr<Function> MakeDerived(Iterator iterator, Term inner);
absl::StatusOr<Function> MakeComposition(Term outer, Function inner);

// Applies it to the arguments, or returns a projection if there are too few.
absl::StatusOr<Term> ApplyFunction(Context& context, const Function& function,
                                   std::span<Term> args);

// Returns the function that a term represents, or anything else that can be applied; nullopt for
// data, which is indexed.
absl::StatusOr<std::optional<Function>> AsFunction(const Term& term, Budget& budget);

// True for anything but a function.
bool IsData(const Term& term);
// Returns the number of arguments that a term takes: one for data.
size_t RankOfTerm(const Term& term);

// f[x;y] with missing arguments. For data, a missing argument selects all of a level.
absl::StatusOr<Term> Project(Context& context, Term x, std::vector<std::optional<Term>> args);

}  // namespace tickstack::query
