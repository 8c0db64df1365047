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

// Returns a term as a value: copies a column or table; a function becomes its bytes on the wire
// (function_value.h).
absl::StatusOr<Value> ToValue(Term term, Budget& budget);

// What names can mean inside a query: the columns of `view`, at `rows`.
struct Scope {
  const TableView* view;
  std::shared_ptr<const RowSet> rows;
};

// What an evaluation needs besides the expression. For one evaluation and its thread.
struct Context {
  Environment& environment;
  Budget& budget;
  Variables& variables;          // Names assigned by the request and its lambdas.
  const Scope* scope = nullptr;  // nullptr outside of queries.

  // Return the same context inside a query, and outside of any.
  Context Inside(const Scope& of) const { return {environment, budget, variables, &of}; }
  Context Outside() const { return {environment, budget, variables, nullptr}; }
};

// A built-in function. The tables of all functions are in the files builtins_*.cc. With fewer than
// `min_args` arguments it becomes a projection, and `apply` is not called.
struct Builtin {
  std::string_view name;
  size_t min_args;
  size_t max_args;
  bool infix;  // True for a keyword that may be written between its arguments, like an operator.
  absl::StatusOr<Term> (*apply)(Context& context, std::span<Term> args);
  // True if a column that is written without a name gets it from the last argument, not the first.
  bool names_by_last = false;
  // If the last argument is written as a list, (a;b;c), this is called instead of `apply`. The
  // items of the list are separate arguments, so that a table among them is not copied. nullptr:
  // `apply` is always called.
  absl::StatusOr<Term> (*apply_to_items)(Context& context, std::span<Term> args) = nullptr;
  // The items of the arguments that item i of the result depends on. Unless this is kAnyItem, a
  // query with `by` may call the function once for the rows of all groups.
  enum class Items {
    kAnyItem,            // Possibly all items of the arguments.
    kSameItem,           // Item i of each argument that is not an atom.
    kSameItemOfTheFirst  // Item i of the first argument, and all of the second.
  };
  Items depends_on = Items::kAnyItem;
  // What other parts of the language, and gateways, may assume about the function.
  enum Fact : uint8_t {
    // The result depends on the arguments alone, and nothing else is evaluated, named or changed.
    // Only such functions are sent to other processes, with the rights of the link.
    kPure = 1,
    kOrderFree = 2,      // An aggregate that does not depend on the order of its items.
    kCombines = 4,       // An aggregate whose results for parts are combined by itself.
    kIgnoresRows = 8,    // The result for a table does not depend on the order of its rows.
    kKeepsRows = 16,     // The result has the rows of the first table in their order.
    kInterprets = 32,    // Evaluates what a request makes, or changes the process.
    kDraws = 64,         // May draw random numbers.
    kNeedsNoRows = 128,  // The result for a table follows from its columns and number of rows.
  };
  uint8_t facts = 0;
  constexpr bool Is(Fact fact) const { return (facts & fact) != 0; }
};

// Returns a copy of the entry that has these facts.
constexpr Builtin With(int facts, Builtin row) {
  row.facts = static_cast<uint8_t>(facts);
  return row;
}

// Return a copy of the entry with `depends_on` set to kSameItem, or to kSameItemOfTheFirst.
constexpr Builtin ByItem(Builtin row) {
  row.depends_on = Builtin::Items::kSameItem;
  return row;
}
constexpr Builtin ByItemOfFirst(Builtin row) {
  row.depends_on = Builtin::Items::kSameItemOfTheFirst;
  return row;
}

const Builtin* FindBuiltin(std::string_view name);  // nullptr if there is none.
// True for a word that q reserves. If there is no built-in of that name, it is outside of the
// subset.
bool IsReservedWord(std::string_view name);
std::span<const std::string_view> ReservedWords();
SymbolVector BuiltinNames();
// Returns the built-ins in q's own namespaces, such as `.Q.s`.
std::vector<Builtin> DottedBuiltins();

// Checks the number of arguments and applies the function.
absl::StatusOr<Term> Apply(Context& context, const Builtin& builtin, std::span<Term> args);

// Applies a term to arguments:
//
//   function    is called; so is the function that a value represents, or that a symbol names
//   data        a vector, list, dictionary or table is indexed, at depth if there are several
//               arguments; the generic null selects all items of a level, as in x[;1]
//
// Errors: `rank` for too many arguments, `stack` if calls are nested too deeply, `type` for a term
//         that cannot be applied, and those of the function.
absl::StatusOr<Term> ApplyTerm(Context& context, Term x, std::span<Term> args);

// Returns the meaning of a name, which can be a column of the scope, a variable of the lambda or of
// the request, a value of `.z`, a table, a value or function of the process, a built-in, or a
// namespace, which is returned as a dictionary. Errors: the name itself if it has no meaning, `nyi`
// for a name of q outside of the subset.
absl::StatusOr<Term> FindName(Context& context, std::string_view name);
// Returns the meaning of a name that is not a namespace; nullopt if it has none.
absl::StatusOr<std::optional<Term>> FindWholeName(Context& context, std::string_view name);

// Calls a built-in, or a function of the process, by its name.
absl::StatusOr<Term> CallName(Context& context, std::string_view name, std::span<Term> args);

// Returns a view of a table. `term` is the table, or its name as a symbol.
absl::StatusOr<TableView> ToView(Context& context, Term term);

}  // namespace tickstack::query
