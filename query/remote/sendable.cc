#include "query/remote/sendable.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "query/columns/errors.h"
#include "query/language/evaluator.h"
#include "query/language/node_copy.h"
#include "query/language/variables.h"
#include "query/remote/remote_table.h"
#include "query/remote/row_order.h"

namespace tickstack::query {
namespace {

bool IsOneOf(std::span<const std::string> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool IsRowNumber(const Node& node, std::span<const std::string> columns) {
  return node.kind == Node::Kind::kName && node.name == "i" && !IsOneOf(columns, "i");
}

bool IsCountOfRows(const Node& node, std::span<const std::string> columns) {
  const Builtin* const called = CalledBuiltin(node);
  return called != nullptr && called->name == "count" && node.children.size() == 2 &&
         IsRowNumber(*node.children[1], columns);
}

void Collect(const Node& node, std::span<const std::string> columns, ColumnNames& named) {
  switch (node.kind) {
    case Node::Kind::kQuery: {
      // Its names are columns of its own table.
      const Node& source = *node.query->source;
      if (source.kind == Node::Kind::kName && !IsOneOf(columns, source.name)) return;
      named.query_of_rows |= !NamesIn(source, columns).nothing();
      return;
    }
    case Node::Kind::kName: {
      const std::string_view base = BeforeDot(node.name);
      if (IsOneOf(columns, base) && !IsOneOf(named.columns, base)) {
        named.columns.emplace_back(base);
      }
      named.row_number |= IsRowNumber(node, columns);
      return;
    }
    case Node::Kind::kAssign:
    case Node::Kind::kView:
      named.assigns = true;
      break;
    default:
      break;
  }
  if (IsCountOfRows(node, columns)) {
    named.counts_rows = true;
    return;
  }
  for (const NodePtr& child : node.children) {
    if (child != nullptr) Collect(*child, columns, named);
  }
}

// True if a value has functions, or may have some.
bool HasFunction(const Value& value) {
  if (value.is_dict() || value.is_table()) return true;
  if (!value.is_list()) return value.is_function() && !value.is_null();
  for (const Value& item : value.items()) {
    if (HasFunction(item)) return true;
  }
  return false;
}

// Replaces what depends on no row.
class Maker {
 public:
  Maker(Context& context, std::span<const std::string> columns)
      : context_(context), columns_(columns) {}

  bool sendable() const { return sendable_; }

  absl::StatusOr<NodePtr> Make(const Node& node) {
    using Kind = Node::Kind;
    if (node.kind == Kind::kFunction) {
      sendable_ &= node.function->Is(Builtin::kPure);
      return CopyOf(node);
    }
    if (NamesIn(node, columns_).nothing()) return Evaluated(node);
    switch (node.kind) {
      case Kind::kName:
        return CopyOf(node);
      case Kind::kApply:
      case Kind::kList: {
        NodePtr made = Shell(node);
        if (IsCountOfRows(node, columns_)) {
          for (const NodePtr& child : node.children) made->children.push_back(CopyOf(*child));
          return made;
        }
        // Values are not applied: a symbol would be the name of a function.
        const bool calls = node.kind == Kind::kList || CalledBuiltin(node) != nullptr;
        sendable_ &= calls;
        made->children.resize(node.children.size());
        for (size_t i = node.children.size(); i-- > 0;) {
          if (node.children[i] == nullptr) continue;
          std::optional<OrderMark> mark;
          if (i == 2 && IsIn(node) && IsExecOfOneColumn(*node.children[i])) {
            mark.emplace(context_.budget, *node.children[i]);
          }
          TS_ASSIGN_OR_RETURN(made->children[i], Make(*node.children[i]));
        }
        return made;
      }
      default:
        sendable_ = false;
        return CopyOf(node);
    }
  }

 private:
  static bool IsIn(const Node& node) {
    const Builtin* const called = CalledBuiltin(node);
    return called != nullptr && called->name == "in";
  }

  static NodePtr Shell(const Node& node) {
    auto made = std::make_unique<Node>();
    made->kind = node.kind;
    made->depth = node.depth;
    made->position = node.position;
    return made;
  }

  // Returns the value of an expression, or the function that it is, as an expression.
  absl::StatusOr<NodePtr> Evaluated(const Node& node) {
    if (node.kind == Node::Kind::kConstant) {
      sendable_ &= !HasFunction(node.value);
      return CopyOf(node);
    }
    Context outside = context_.Outside();
    TS_ASSIGN_OR_RETURN(Term term, EvaluateNode(outside, node));
    if (const auto* function = std::get_if<Function>(&term)) return Of(*function, node);
    TS_ASSIGN_OR_RETURN(Value value, ToValue(std::move(term), context_.budget));
    sendable_ &= !HasFunction(value);
    NodePtr made = ConstantNode(std::move(value));
    made->position = node.position;
    return made;
  }

  NodePtr Of(const Function& function, const Node& node) {
    NodePtr made = Shell(node);
    made->depth = 1;
    if (const auto* builtin = std::get_if<const Builtin*>(&function)) {
      made->kind = Node::Kind::kFunction;
      made->function = *builtin;
      sendable_ &= (*builtin)->Is(Builtin::kPure);
      return made;
    }
    made->kind = Node::Kind::kClosure;
    made->closure = function;
    sendable_ = false;
    return made;
  }

  Context& context_;
  const std::span<const std::string> columns_;
  bool sendable_ = true;
};

bool IsAtom(const Node& node) { return node.kind == Node::Kind::kConstant && node.value.is_atom(); }

}  // namespace

const Builtin* CalledBuiltin(const Node& node) {
  const auto is_missing = [](const NodePtr& child) { return child == nullptr; };
  const bool call = node.kind == Node::Kind::kApply && node.children.size() > 1 &&
                    std::ranges::none_of(node.children, is_missing) &&
                    node.children[0]->kind == Node::Kind::kFunction;
  return call ? node.children[0]->function : nullptr;
}

ColumnNames NamesIn(const Node& node, std::span<const std::string> columns) {
  ColumnNames named;
  Collect(node, columns, named);
  return named;
}

bool GoesByItem(const Node& node, std::span<const std::string> columns) {
  if (node.kind == Node::Kind::kName) {
    // Where `date` is no column, a value takes its place; date.month has none.
    const std::string_view base = BeforeDot(node.name);
    return IsOneOf(columns, base) && (base != kDateColumn || base == node.name);
  }
  const Builtin* const called = CalledBuiltin(node);
  if (called == nullptr) return false;
  const auto args = std::span(node.children).subspan(1);
  const auto by_item = [&](const NodePtr& arg) { return GoesByItem(*arg, columns); };
  switch (called->depends_on) {
    case Builtin::Items::kAnyItem:
      return false;
    case Builtin::Items::kSameItem:
      return std::ranges::any_of(args, by_item) &&
             std::ranges::all_of(args,
                                 [&](const NodePtr& arg) { return IsAtom(*arg) || by_item(arg); });
    case Builtin::Items::kSameItemOfTheFirst:
      return args.size() == 2 && by_item(args[0]) && args[1]->kind == Node::Kind::kConstant;
  }
  return false;
}

absl::StatusOr<Sendable> MakeSendable(Context& context, const Node& node,
                                      std::span<const std::string> columns) {
  Sendable made;
  const ColumnNames named = NamesIn(node, columns);
  made.columns = named.columns;
  made.row_number = named.row_number;
  if (named.assigns || named.query_of_rows) {
    made.node = CopyOf(node);
    made.sendable = false;
    return made;
  }
  Maker maker(context, columns);
  TS_ASSIGN_OR_RETURN(made.node, maker.Make(node));
  made.sendable = maker.sendable();
  made.by_item = made.sendable && GoesByItem(*made.node, columns);
  return made;
}

}  // namespace tickstack::query
