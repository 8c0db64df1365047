#pragma once

#include <optional>
#include <span>
#include <variant>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "query/columns/table_view.h"
#include "query/language/environment.h"
#include "query/language/function.h"
#include "table/value.h"

namespace tickstack::query {

class Variables;

// What an expression evaluates to: a value; a column or table that nobody has copied yet; or a
// function.
using Term = std::variant<Value, Slice, TableView, Function>;

// Copies out what is not a value yet. A function becomes the bytes that stand for it on the wire
// (function_value.h).
absl::StatusOr<Value> ToValue(Term term, Budget& budget);

// The names that stand for columns inside a query, and the rows that it still looks at.
struct Scope {
  const TableView* view;
  std::shared_ptr<const RowSet> rows;
};

// What evaluating needs besides the expression. One evaluation, one thread.
struct Context {
  Environment& environment;
  Budget& budget;
  Variables& variables;          // Names that the request and its lambdas assigned.
  const Scope* scope = nullptr;  // nullptr: not inside a query.

  // The same inside a query, outside of any.
  Context Inside(const Scope& of) const { return {environment, budget, variables, &of}; }
  Context Outside() const { return {environment, budget, variables, nullptr}; }
};

// A function of the subset. A later one is an entry in a table of the files builtins_*.cc. Given
// fewer than `min_args` arguments it is a projection, and `apply` is not called.
struct Builtin {
  std::string_view name;
  size_t min_args;
  size_t max_args;
  bool infix;  // A keyword that stands between its arguments. Operators always may.
  absl::StatusOr<Term> (*apply)(Context& context, std::span<Term> args);
  bool names_by_last =
      false;  // A column without a name has that of the last argument, not the first.
  // Called instead of `apply` if the last argument is written as a list, (a;b;c), with its items as
  // separate arguments, so that a table among them is not copied. nullptr: always calls `apply`.
  absl::StatusOr<Term> (*apply_to_items)(Context& context, std::span<Term> args) = nullptr;
};

const Builtin* FindBuiltin(std::string_view name);  // nullptr: there is none.
// A word that q reserves: if it is no built-in here, it is not in the subset.
bool IsReservedWord(std::string_view name);
std::span<const std::string_view> ReservedWords();
SymbolVector BuiltinNames();
// Those of q's own namespaces, such as `.Q.s`.
std::vector<Builtin> DottedBuiltins();

// Checks the count of arguments and applies.
absl::StatusOr<Term> Apply(Context& context, const Builtin& builtin, std::span<Term> args);

// Applies anything that can be applied: a function, a value that stands for one, the name of one as
// a symbol; or indexes a vector, list, dictionary or table, at depth if there are several
// arguments. The generic null as an index stands for all of that level, as in x[;1].
//
// Errors: `rank` for too many arguments, `stack` when calls are nested too deeply, `type` for what
// cannot be applied, and what the function says.
absl::StatusOr<Term> ApplyTerm(Context& context, Term x, std::span<Term> args);

// The value, table or function that a name stands for: a column of the scope, a variable of the
// lambda or of the request, a clock, a table, a value of the process, a function; a namespace as a
// dictionary. Errors: the name itself, or `nyi` for what q has and this subset has not.
absl::StatusOr<Term> FindName(Context& context, std::string_view name);
// The same without namespaces; nullopt: there is nothing of that name.
absl::StatusOr<std::optional<Term>> FindWholeName(Context& context, std::string_view name);

// Calls a function by name: one of those, or a function of the process.
absl::StatusOr<Term> CallName(Context& context, std::string_view name, std::span<Term> args);

// A table by value, or by name as a symbol.
absl::StatusOr<TableView> ToView(Context& context, Term term);

}  // namespace tickstack::query
