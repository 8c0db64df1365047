#include "query/remote/order_free.h"

#include <algorithm>
#include <vector>

#include "query/remote/sendable.h"

namespace tickstack::query {

bool IsOrderFree(const Node& node, std::span<const std::string> columns) {
  const Builtin* const called = CalledBuiltin(node);
  if (called == nullptr) return false;
  const auto args = std::span(node.children).subspan(1);
  if (called->Is(Builtin::kOrderFree)) {
    return std::ranges::all_of(args, [&](const NodePtr& arg) {
      if (called->name == "count") {
        if (arg->kind == Node::Kind::kName && arg->name == "i") return true;
        const Builtin* const inner = CalledBuiltin(*arg);
        if (inner != nullptr && inner->name == "distinct") {
          return GoesByItem(*arg->children.back(), columns);
        }
      }
      return GoesByItem(*arg, columns);
    });
  }
  return called->depends_on == Builtin::Items::kSameItem &&
         std::ranges::all_of(args, [&](const NodePtr& arg) {
           const bool atom = arg->kind == Node::Kind::kConstant && arg->value.is_atom();
           return atom || IsOrderFree(*arg, columns);
         });
}

bool NeedsNoOrder(const Node& node, std::span<const std::string> columns) {
  if (node.kind == Node::Kind::kConstant) return node.value.is_atom();
  if (GoesByItem(node, columns) || IsOrderFree(node, columns)) return true;
  const Builtin* const called = CalledBuiltin(node);
  if (called == nullptr) return false;
  const auto args = std::span(node.children).subspan(1);
  if (called->name == "fby" && args[0]->kind == Node::Kind::kList) {
    const std::vector<NodePtr>& pair = args[0]->children;
    return args.size() == 2 && pair.size() == 2 && pair[0] != nullptr && pair[1] != nullptr &&
           pair[0]->kind == Node::Kind::kFunction && pair[0]->function->Is(Builtin::kOrderFree) &&
           NeedsNoOrder(*pair[1], columns) && NeedsNoOrder(*args[1], columns);
  }
  return (called->Is(Builtin::kOrderFree) || called->depends_on == Builtin::Items::kSameItem) &&
         std::ranges::all_of(args, [&](const NodePtr& arg) { return NeedsNoOrder(*arg, columns); });
}

}  // namespace tickstack::query
