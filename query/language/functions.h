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

// f[1;]: a function with some of its arguments; a missing one is nullopt.
struct Projection {
  Function function;
  std::vector<std::optional<Term>> args;
  int depth = 1;
};

// f/: an iterator on a function, or on a list, dictionary or name that is applied like a function.
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

// Make a function. Errors: `stack` if its depth would be more than kMaxFunctionDepth.
absl::StatusOr<Function> MakeProjection(Function function, std::vector<std::optional<Term>> args);
absl::StatusOr<Function> MakeDerived(Iterator iterator, Term inner);
absl::StatusOr<Function> MakeComposition(Term outer, Function inner);

// Applies a function to the arguments, or returns a projection if there are too few.
absl::StatusOr<Term> ApplyFunction(Context& context, const Function& function,
                                   std::span<Term> args);

// Returns the function that a term represents; nullopt for data, which is indexed when it is
// applied.
absl::StatusOr<std::optional<Function>> AsFunction(const Term& term, Budget& budget);

// True for anything but a function.
bool IsData(const Term& term);
// Returns the number of arguments that a term takes: one for data.
size_t RankOfTerm(const Term& term);

// Applies x to arguments of which some are missing (nullopt). A function becomes a projection; for
// data, a missing argument selects all items of its level.
absl::StatusOr<Term> Project(Context& context, Term x, std::vector<std::optional<Term>> args);

}  // namespace tickstack::query
