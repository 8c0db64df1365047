#pragma once

#include <optional>
#include <span>
#include <variant>

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/language/environment.h"
#include "query/language/function.h"
#include "table/value.h"

namespace tickstack::query {

class Variables;

// The result of evaluating an expression: a value; a column or table that has not been copied yet;
// or a function.
using Term = std::variant<Value, Slice, TableView, Function>;

// Copies a term that is not a value yet. A function becomes its bytes on the wire
// (function_value.h).
absl::StatusOr<Value> ToValue(Term term, Budget& budget);

// The columns that names can mean inside a query, and the rows that it still covers.
struct Scope {
  const TableView* view;
  std::shared_ptr<const RowSet> rows;
};

// What an evaluation needs besides the expression. One evaluation, one thread.
struct Context {
  Environment& environment;
  Budget& budget;
  Variables& variables;          // Names assigned by the request and its lambdas.
  const Scope* scope = nullptr;  // nullptr outside of queries.

  // Return the same context inside a query, and outside of any.
  Context Inside(const Scope& of) const { return {environment, budget, variables, &of}; }
  Context Outside() const { return {environment, budget, variables, nullptr}; }
};

// A function of the subset. A new one is an entry in a table of the files builtins_*.cc. With fewer
// than `min_args` arguments it becomes a projection, and `apply` is not called.
struct Builtin {
  std::string_view name;
  size_t min_args;
  size_t max_args;
  bool infix;  // True for a keyword between its arguments. Operators always may be.
  absl::StatusOr<Term> (*apply)(Context& context, std::span<Term> args);
  bool names_by_last =
      false;  // A column without a name has that of the last argument, not the first.
  // Called instead of `apply` if the last argument is written as a list, (a;b;c), with its items as
  // separate arguments, so that a table among them is not copied. nullptr: `apply` is always
  // called.
  absl::StatusOr<Term> (*apply_to_items)(Context& context, std::span<Term> args) = nullptr;
  // What item i of the result depends on. Unless that is kAnyItem, a query with `by` may call the
  // function once for the rows of all groups.
  enum class Items {
    kAnyItem,            // Any item of the arguments.
    kSameItem,           // Item i of each argument that is not an atom.
    kSameItemOfTheFirst  // Item i of the first argument, and all of the second.
  };
  Items depends_on = Items::kAnyItem;
};

// Return a row of a table of functions whose result is made item by item.
constexpr Builtin ByItem(Builtin row) {
  row.depends_on = Builtin::Items::kSameItem;
  return row;
}
constexpr Builtin ByItemOfFirst(Builtin row) {
  row.depends_on = Builtin::Items::kSameItemOfTheFirst;
  return row;
}

const Builtin* FindBuiltin(std::string_view name);  // nullptr if there is none.
// True for a word that q reserves: if it is no built-in here, it is outside of the subset.
bool IsReservedWord(std::string_view name);
std::span<const std::string_view> ReservedWords();
SymbolVector BuiltinNames();
// Returns those of q's own namespaces, such as `.Q.s`.
std::vector<Builtin> DottedBuiltins();

// Checks the number of arguments and applies the function.
absl::StatusOr<Term> Apply(Context& context, const Builtin& builtin, std::span<Term> args);

// Applies anything that can be applied: a function, a value that represents one, or the name of one
// as a symbol. Or indexes a vector, list, dictionary or table, at depth if there are several
// arguments. The generic null as an index selects all of that level, as in x[;1].
//
// Errors: `rank` for too many arguments, `stack` if calls are nested too deeply, `type` for what
// cannot be applied, and those of the function.
absl::StatusOr<Term> ApplyTerm(Context& context, Term x, std::span<Term> args);

// Returns the value, table or function of a name: a column of the scope, a variable of the lambda
// or of the request, a clock, a table, a value of the process, or a function; a namespace as a
// dictionary. Errors: the name itself, or `nyi` for names of q outside of the subset.
absl::StatusOr<Term> FindName(Context& context, std::string_view name);
// The same without namespaces; nullopt if the name has no meaning.
absl::StatusOr<std::optional<Term>> FindWholeName(Context& context, std::string_view name);

// Calls a function by name: a built-in, or a function of the process.
absl::StatusOr<Term> CallName(Context& context, std::string_view name, std::span<Term> args);

// Returns a view of a table, which is given by value, or by name as a symbol.
absl::StatusOr<TableView> ToView(Context& context, Term term);

}  // namespace tickstack::query
