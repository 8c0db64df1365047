#pragma once

// Makes expressions of a query ready for evaluation in another process, which does not know the
// variables of the request: what depends on no row is evaluated here.
//
//   select max price by sym from trade where sym in s, size>2*n   becomes, with s:`A`B and n:50,
//   select max price by sym from trade where sym in `A`B, size>100

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// What an expression over rows of a table names.
struct ColumnNames {
  std::vector<std::string> columns;  // Each once.
  bool row_number = false;           // `i`, other than in `count i`.
  bool counts_rows = false;          // `count i`.
  bool query_of_rows = false;        // It has a nested query over a column.
  bool assigns = false;              // It assigns a variable.

  bool are_columns_only() const { return !row_number && !counts_rows && !query_of_rows; }
  bool nothing() const { return columns.empty() && are_columns_only() && !assigns; }
};
ColumnNames NamesIn(const Node& node, std::span<const std::string> columns);

// An expression over rows of a table.
struct Sendable {
  // The expression; what names no column is replaced by its value. A copy of the original if
  // `sendable` is false.
  NodePtr node;
  std::vector<std::string> columns;  // That it names, each once.
  bool row_number = false;           // It names `i`, other than in `count i`.
  // True if it means the same in a process that has only the rows, and can reach nothing else
  // there: it consists of columns, values and calls of built-ins that only compute. Lambdas, values
  // that are applied, and nested queries over columns are not sendable.
  bool sendable = true;
  bool by_item = false;  // Item i of the result depends on row i only. Implies sendable.
};

// Evaluates the parts of an expression that depend on no row, each once and from the right.
// `columns` are the names that mean columns. An assignment makes the expression one that is not
// sendable, and nothing of it is evaluated. Errors: those of the evaluation.
absl::StatusOr<Sendable> MakeSendable(Context& context, const Node& node,
                                      std::span<const std::string> columns);

// Returns the built-in that an expression applies to arguments, none of which is missing; nullptr:
// it is no such call.
const Builtin* CalledBuiltin(const Node& node);

// True if the expression has an item for each row, made of that row's items. A constant has none.
bool GoesByItem(const Node& node, std::span<const std::string> columns);

}  // namespace tickstack::query
