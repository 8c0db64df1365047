#pragma once

// The tree that the parser makes of an expression, and that the evaluator walks.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "query/language/function.h"
#include "query/language/term.h"
#include "table/value.h"

namespace tickstack::query {

struct Query;

// A parsed expression. Its depth is bounded when it is built, so code that walks it may recurse.
struct Node {
  enum class Kind {
    kConstant,  // `value`
    kName,      // `name`
    kFunction,  // `function`, a built-in
    kClosure,   // `closure`, a function of another kind: a lambda, or one out of a parse tree
    kApply,    // children[0] applied to the others, which are evaluated from the right; nullptr for
               // one that is missing: a projection, or all of a level of an index
    kDerived,  // `iterator` on children[0]
    kList,     // (a;b;c)
    kTable,    // ([a:x] b:y): children are the columns, `names` theirs, `key_columns` of them keys
    kCond,     // $[c;a;b]: children
    kBlock,    // [a;b;c]: statements, the last one's value
    kIf,       // if[c;...], do[n;...], while[c;...]: children
    kDo,
    kWhile,
    kAssign,  // name:x, name[i;j]+:x: children[0] is x, the others the indices; `function` the
              // operator or nullptr
    kView,    // name::x outside of a lambda: children[0] is x as a lambda
    kReturn,  // :x
    kSignal,  // 'x
    kQuery,   // `query`
  };
  // `position` of an expression of another text than the request's.
  static constexpr uint32_t kNoPosition = UINT32_MAX;

  Kind kind = Kind::kConstant;
  int depth = 1;
  // Byte offset in the text of the request where an error of this expression is shown: its first
  // token; for `x+y` and f[x] that of the function.
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

// `name: expression`; without a name the expression's leftmost term gives one (`named` is false).
struct NamedNode {
  std::string name;
  bool named = false;
  NodePtr node;
};

// select|exec [limit;>order] distinct columns by groups from source where conditions;
// update columns by groups from source where conditions; delete columns|from source where
// conditions
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
  NodePtr order;  // With `descending`: the order of select[>order].
  bool descending = false;
  std::vector<NamedNode> columns;
  std::vector<NamedNode> groups;
  bool grouped = false;
  NodePtr source;
  std::vector<NodePtr> conditions;
};

}  // namespace tickstack::query
