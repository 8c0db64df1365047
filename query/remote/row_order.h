#pragma once

// Whether the order of the rows of a result matters to what uses it. The rows of several shards may
// come in an order that is not that of one process (remote_query.h), which is no error if it does
// not matter:
//
//   select from trade                 the answer itself comes shard by shard
//   asc exec distinct sym from trade  the function sorts its argument, or counts it
//   `sym xasc trade                   sorted by symbol; each symbol's rows keep their order anyway
//
// Before an expression is evaluated, the queries and names of which this is true are marked in the
// budget of the request. A query or name that is not marked needs the order of one process.

#include <cstddef>
#include <optional>

#include "query/columns/budget.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// How the rows of a result are used.
struct RowUse {
  bool any_order = false;  // Any order will do that keeps the rows of one symbol in theirs.
  // Then they are sorted by these columns, symbols or one symbol; nullptr: they are not.
  const Value* sorted_by = nullptr;
};

// Marks a query or name; other nodes pass the mark to a part of them, or drop it. The node, and
// `sorted_by`, must outlive the object.
class OrderMark {
 public:
  OrderMark(Budget& budget, const Node& node, const Value* sorted_by = nullptr);
  ~OrderMark() { budget_.TrimOrderMarks(before_); }
  OrderMark(const OrderMark&) = delete;
  OrderMark& operator=(const OrderMark&) = delete;

 private:
  Budget& budget_;
  const size_t before_;
};

// Marks the result of a lambda, the last statement; nothing if the function is something else.
class LambdaMark {
 public:
  LambdaMark(Budget& budget, const Function& function, const Value* sorted_by = nullptr);

 private:
  std::optional<OrderMark> mark_;
};

// While the arguments of a call are evaluated, marks those of which the function needs no order.
class ArgumentMarks {
 public:
  // `node` is a kApply without missing arguments. Takes its mark.
  ArgumentMarks(Context& context, const Node& node);

 private:
  std::optional<OrderMark> first_, last_;
  std::optional<LambdaMark> lambda_;
};

// Returns how the result of a query, or of a name, is used, and drops the mark.
RowUse TakeRowUse(Budget& budget, const Query& query);
RowUse TakeRowUse(Budget& budget, const Node& name);

// True for `exec` of one column, which makes a vector.
bool IsExecOfOneColumn(const Node& node);

}  // namespace tickstack::query
