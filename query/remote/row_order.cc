#include "query/remote/row_order.h"

#include <memory>
#include <string_view>
#include <variant>

namespace tickstack::query {
namespace {

// What a mark is of: a query is evaluated as such, whatever node it is in.
const void* KeyOf(const Node& node) {
  return node.kind == Node::Kind::kQuery ? static_cast<const void*>(node.query.get()) : &node;
}

RowUse UseOf(const std::optional<const Value*>& mark) {
  return mark ? RowUse{true, *mark} : RowUse{};
}

// True if all names in `wanted`, symbols or one symbol, are among `names`.
bool HasAll(const Value& names, const Value& wanted) {
  const SymbolVector& symbols = names.symbols();
  for (size_t i = 0; i < wanted.count(); ++i) {
    const std::string_view name = wanted.is_atom() ? wanted.symbol() : wanted.symbols()[i];
    bool found = false;
    for (size_t k = 0; k < names.count(); ++k) found |= symbols[k] == name;
    if (!found) return false;
  }
  return true;
}

}  // namespace

OrderMark::OrderMark(Budget& budget, const Node& node, const Value* sorted_by)
    : budget_(budget), before_(budget.order_marks()) {
  budget.AddOrderMark(KeyOf(node), sorted_by);
}

LambdaMark::LambdaMark(Budget& budget, const Function& function, const Value* sorted_by) {
  const auto* const lambda = std::get_if<std::shared_ptr<const Lambda>>(&function);
  if (lambda == nullptr || (*lambda)->statements.empty()) return;
  const NodePtr& last = (*lambda)->statements.back();
  if (last != nullptr) mark_.emplace(budget, *last, sorted_by);
}

ArgumentMarks::ArgumentMarks(Context& context, const Node& node) {
  Budget& budget = context.budget;
  const std::optional<const Value*> own = budget.TakeOrderMark(&node);
  const Node& function = *node.children[0];
  if (function.kind == Node::Kind::kClosure) {
    if (own) lambda_.emplace(budget, function.closure, *own);
    return;
  }
  if (function.kind != Node::Kind::kFunction || node.children.size() < 2) return;
  // A projection: its arguments are used later, in another way.
  if (node.children.size() - 1 < function.function->min_args) return;
  const std::string_view name = function.function->name;
  const bool is_asof = name == "aj" || name == "aj0";
  const Node& first = *node.children[1];
  // After its tables, an asof join may have the greatest age.
  const Node& last = is_asof ? *node.children[3] : *node.children.back();
  if (node.children.size() == 2) {
    if (last.kind != Node::Kind::kQuery) return;
    const bool sorts =
        name == "asc" || name == "desc" || function.function->Is(Builtin::kOrderFree);
    if (function.function->Is(Builtin::kIgnoresRows) || (sorts && IsExecOfOneColumn(last)))
      last_.emplace(budget, last);
    return;
  }
  if (name == "in" && IsExecOfOneColumn(last)) last_.emplace(budget, last);
  const bool names_columns = first.kind == Node::Kind::kConstant && first.value.is(Type::kSymbol);
  const bool sorts = name == "xasc" || name == "xdesc" || is_asof;
  if (sorts && (names_columns ||
                (first.kind == Node::Kind::kConstant && first.value.is_atom_of(Type::kSymbol)))) {
    last_.emplace(budget, last, &first.value);
  }
  // The result may have other symbols than the first table, unless they are joined by.
  const bool keeps_order =
      own && (*own == nullptr || (is_asof && names_columns && HasAll(first.value, **own)));
  if (keeps_order && function.function->Is(Builtin::kKeepsRows)) {
    first_.emplace(budget, is_asof ? *node.children[2] : first, *own);
  }
  // The keys of the last table are unique, unless an update changes them.
  const bool may_change_keys =
      last.kind == Node::Kind::kQuery && last.query->verb == Query::Verb::kUpdate;
  if ((name == "lj" || name == "ij") && !may_change_keys) last_.emplace(budget, last);
}

RowUse TakeRowUse(Budget& budget, const Query& query) {
  return UseOf(budget.TakeOrderMark(&query));
}

RowUse TakeRowUse(Budget& budget, const Node& name) { return UseOf(budget.TakeOrderMark(&name)); }

bool IsExecOfOneColumn(const Node& node) {
  return node.kind == Node::Kind::kQuery && node.query->is_exec() && !node.query->grouped &&
         node.query->limit == nullptr && node.query->columns.size() == 1 &&
         !node.query->columns[0].named;
}

}  // namespace tickstack::query
