#pragma once

#include <memory>
#include <string>
#include <vector>

#include "query/term.h"
#include "table/value.h"

namespace tickstack::query {

struct Query;

// A parsed expression. Depth is bounded when it is built, so whoever walks it may recurse.
struct Node {
  enum class Kind {
    kConstant,  // `value`
    kName,      // `name`
    kFunction,  // `function`
    kApply,     // children[0] applied to the others, which are evaluated from the right
    kList,      // (a;b;c)
    kTable,     // ([a:x] b:y): children are the columns, `names` theirs, `key_columns` of them keys
    kCond,      // $[c;a;b]: children
    kQuery,     // `query`
  };
  Kind kind = Kind::kConstant;
  int depth = 1;
  Value value;
  std::string name;
  const Builtin* function = nullptr;
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

// select|exec [limit;>order] distinct columns by groups from source where conditions
struct Query {
  bool exec = false;
  bool distinct = false;
  NodePtr limit;
  NodePtr order;  // With `descending`: of select[>order].
  bool descending = false;
  std::vector<NamedNode> columns;
  std::vector<NamedNode> groups;
  bool grouped = false;
  NodePtr source;
  std::vector<NodePtr> conditions;
};

}  // namespace tickstack::query
