#pragma once

#include <span>
#include <variant>

#include "absl/status/statusor.h"
#include "query/budget.h"
#include "query/column.h"
#include "query/query.h"
#include "query/table_view.h"
#include "table/value.h"

namespace tickstack::query {

struct Builtin;

// What an expression evaluates to: a value; a column or table that nobody has copied yet; or a
// built-in function.
using Term = std::variant<Value, Slice, TableView, const Builtin*>;

// Copies out what is not a value yet. A function is the error nyi: no client can use one.
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
  const Scope* scope = nullptr;  // nullptr: not inside a query.
};

// A function of the subset. A later one is an entry in a table of the files builtins_*.cc.
struct Builtin {
  std::string_view name;
  size_t min_args;
  size_t max_args;
  bool infix;  // A keyword that stands between its arguments. Operators always may.
  absl::StatusOr<Term> (*apply)(Context& context, std::span<Term> args);
  bool names_by_last =
      false;  // A column without a name has that of the last argument, not the first.
};

const Builtin* FindBuiltin(std::string_view name);  // nullptr: there is none.
// A word that q reserves: if it is no built-in here, it is not in the subset.
bool IsReservedWord(std::string_view name);
SymbolVector BuiltinNames();

// Checks the count of arguments and applies.
absl::StatusOr<Term> Apply(Context& context, const Builtin& builtin, std::span<Term> args);

// x[i], x[i;j]: indexes a vector, list, dictionary or table; calls what a symbol names.
absl::StatusOr<Term> ApplyTerm(Context& context, Term x, std::span<Term> args);

// The value, table or function that a name stands for; columns of the scope first.
absl::StatusOr<Term> FindName(Context& context, std::string_view name);

// Calls a function by name: a built-in, a function of the process, or indexes a table or value.
absl::StatusOr<Term> CallName(Context& context, std::string_view name, std::span<Term> args);

// A table by value, or by name as a symbol.
absl::StatusOr<TableView> ToView(Context& context, Term term);

}  // namespace tickstack::query
