#pragma once

// Expressions of which the result does not depend on the order of the rows, so that rows of several
// shards may come in any order. `columns` are the names that mean columns. What names no column
// must be a constant (MakeSendable).

#include <span>
#include <string>

#include "query/language/ast.h"

namespace tickstack::query {

// True if an expression is an aggregate that does not depend on the order of the rows, or made of
// such aggregates item by item.
bool IsOrderFree(const Node& node, std::span<const std::string> columns);

// True if the items of an expression belong to their rows, whatever the order of the rows: it is an
// atom, goes by item, or combines such expressions with aggregates that do not depend on the order
// either, as in size>2*avg size or size=(max;size) fby venue.
bool NeedsNoOrder(const Node& node, std::span<const std::string> columns);

}  // namespace tickstack::query
