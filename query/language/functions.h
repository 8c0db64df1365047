#pragma once

// What functions are made of, for those who apply and take them apart; who only passes them on
// needs function.h.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/function.h"
#include "query/language/term.h"

namespace tickstack::query {

// f[1;]: the arguments, nullopt where one is missing.
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

// '[f;g]: f of what g makes of all arguments.
struct Composition {
  Term outer;
  Function inner;
  int depth = 1;
};

// `stack` if it were more than kMaxFunctionDepth deep.
absl::StatusOr<Function> MakeProjection(Function function, std::vector<std::optional<Term>> args);
absl::StatusOr<Function> MakeDerived(Iterator iterator, Term inner);
absl::StatusOr<Function> MakeComposition(Term outer, Function inner);

// Applies it to the arguments, or is a projection if there are too few.
absl::StatusOr<Term> ApplyFunction(Context& context, const Function& function,
                                   std::span<Term> args);

// What a term stands for as a function, whatever may be applied: nullopt for data that is indexed.
absl::StatusOr<std::optional<Function>> AsFunction(const Term& term, Budget& budget);

// How many arguments a term takes: of data one.
size_t RankOfTerm(const Term& term);

// f[x;y] with arguments left out. Data that is indexed takes all of a level instead.
absl::StatusOr<Term> Project(Context& context, Term x, std::vector<std::optional<Term>> args);

}  // namespace tickstack::query
