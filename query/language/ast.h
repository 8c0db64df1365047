#pragma once

// The tree of an expression: the parser builds it, and the evaluator walks it.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/language/function.h"
#include "query/language/term.h"
#include "table/value.h"

namespace tickstack::query {

struct Query;

// A parsed expression. The parser bounds its depth, so code that walks it may recurse.
struct Node {
  enum class Kind {
    kConstant,  // `value`
    kName,      // `name`
    kFunction,  // `function`, a built-in
    kClosure,   // `closure`, any other function, such as a lambda or a function in a parse tree
    kApply,     // children[0] applied to the other children, the last one evaluated first; nullptr
                // for a missing argument, as in f[1;] or x[;1]
    kDerived,   // f', f/ ...: `iterator` applied to children[0]
    kList,      // (a;b;c): children
    kTable,     // ([a:x] b:y): children are the columns, `names` are their names, and the first
                // `key_columns` are keys
    kCond,      // $[c;a;b]: children
    kBlock,     // [a;b;c]: children are statements; the value is that of the last one
    kIf,        // if[c;...]: children
    kDo,        // do[n;...]: children
    kWhile,     // while[c;...]: children
    kAssign,    // name:x, name[i;j]+:x: children[0] is x, the other children are the indices;
                // `function` is the operator, or nullptr
    kView,      // name::x outside of a lambda: children[0] is x as a lambda
    kReturn,    // :x, children[0]
    kSignal,    // 'x, children[0]
    kQuery,     // `query`
  };
  // The position of an expression that is not in the text of the request.
  static constexpr uint32_t kNoPosition = UINT32_MAX;

  Kind kind = Kind::kConstant;
  int depth = 1;
  // Byte offset in the text of the request at which an error of this expression is shown. It is the
  // position of the function for `x+y` and f[x], else of the first token.
  uint32_t position = kNoPosition;
  Value value;
  std::string name;
  const Builtin* function = nullptr;
  Function closure = static_cast<const Builtin*>(nullptr);
  Iterator iterator = Iterator::kEach;
  std::vector<std::unique_ptr<Node>> children;
  std::vector<std::string> names;
  size_t key_columns = 0;
  std::unique_ptr<Query> query;
};

using NodePtr = std::unique_ptr<Node>;

// `name: expression`. If the name is not written, `named` is false, and `name` is derived from the
// expression (NameOfColumn in parser.h).
struct NamedNode {
  std::string name;
  bool named = false;
  NodePtr node;
};

// A query:
//
//   select|exec [limit;>order] distinct columns by groups from source where conditions
//   update columns by groups from source where conditions
//   delete columns|from source where conditions
struct Query {
  enum class Verb { kSelect, kExec, kUpdate, kDelete };
  Verb verb = Verb::kSelect;
  bool is_exec() const { return verb == Verb::kExec; }
  // True for `by 0b`.
  bool GroupsByNothing() const {
    if (groups.size() != 1 || groups[0].named) return false;
    const Node& group = *groups[0].node;
    return group.kind == Node::Kind::kConstant && group.value.is_atom_of(Type::kBoolean) &&
           group.value.as<uint8_t>() == 0;
  }
  bool distinct = false;
  NodePtr limit;
  NodePtr order;            // The expression in select[<order] or select[>order].
  bool descending = false;  // True for select[>order].
  std::vector<NamedNode> columns;
  std::vector<NamedNode> groups;
  bool grouped = false;  // True with `by`.
  NodePtr source;
  std::vector<NodePtr> conditions;
};

// Returns the column that a name such as date.month is about.
inline std::string_view BeforeDot(std::string_view name) { return name.substr(0, name.find('.')); }

}  // namespace tickstack::query
