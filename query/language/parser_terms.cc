// Parses the parts of expressions: literals, names, functions, brackets, lambdas.

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "query/columns/errors.h"
#include "query/kernels/literal.h"
#include "query/language/function_value.h"
#include "query/language/parser_state.h"

namespace tickstack::query {

std::optional<Iterator> Parser::IteratorAt() const {
  if (Peek().kind != TokenKind::kOperator || Peek().after_blank) return std::nullopt;
  return FindIterator(Peek().text);
}

// Parses a primary with the brackets and iterators after it.
absl::StatusOr<Parser::Parsed> Parser::Term() {
  const size_t position = Peek().position;
  TS_ASSIGN_OR_RETURN(Parsed term, Primary());
  SetPosition(*term.node, position);
  for (;;) {
    if (Peek().Is(TokenKind::kOpen, "[")) {
      TS_ASSIGN_OR_RETURN(term.node, Brackets(std::move(term.node)));
      term.verb = false;
    } else if (const std::optional<Iterator> iterator = IteratorAt()) {
      Take();
      NodePtr node = NewNode(Node::Kind::kDerived);
      node->iterator = *iterator;
      node->position = term.node->position;
      node->children.push_back(std::move(term.node));
      TS_ASSIGN_OR_RETURN(term.node, Checked(std::move(node)));
      term.verb = true;
    } else {
      return term;
    }
  }
}

// f[x;y]; a missing argument is nullptr.
Parser::Result Parser::Brackets(NodePtr node) {
  TS_ASSIGN_OR_RETURN(std::vector<NodePtr> args, Bracketed());
  return AppliedInBrackets(std::move(node), std::move(args));
}

Parser::Result Parser::AppliedInBrackets(NodePtr node, std::vector<NodePtr> args) {
  const bool function = node->kind == Node::Kind::kFunction;
  if (function && node->function->name == ":" && AreOfAssignment(args)) {
    return BracketAssignment(nullptr, std::move(args));
  }
  const bool any_number = function && node->function->name == "enlist";
  if (args.size() > kMaxParameters && !any_number)
    return RankError("{} arguments, at most {}", args.size(), kMaxParameters);
  if (args.size() == 1 && args.front() == nullptr) {
    TS_ASSIGN_OR_RETURN(args.front(), Constant(Value()));  // f[] passes the generic null.
  }
  return MakeApply(std::move(node), std::move(args));
}

absl::StatusOr<Parser::Parsed> Parser::Primary() {
  const auto noun = [](Result node) -> absl::StatusOr<Parsed> {
    TS_RETURN_IF_ERROR(node.status());
    return Parsed{*std::move(node), false};
  };
  switch (Peek().kind) {
    case TokenKind::kNumber:
      if (Peek().text == "0:") {
        Take();
        return Parsed{FunctionNode(*FindBuiltin("0:")), !Peek().Is(TokenKind::kOpen, "[")};
      }
      return noun(Numbers());
    case TokenKind::kString: {
      const std::string_view quoted = Take().text;
      TS_ASSIGN_OR_RETURN(Value text, ParseString(quoted.substr(1, quoted.size() - 2)));
      return noun(Constant(std::move(text)));
    }
    case TokenKind::kSymbol:
      return noun(Symbols());
    case TokenKind::kName:
      return NamePrimary();
    case TokenKind::kOperator:
      return OperatorPrimary();
    case TokenKind::kOpen:
      return noun(Peek().text == "{" ? LambdaExpression() : Parenthesised());
    case TokenKind::kClose:
    case TokenKind::kSemicolon:
    case TokenKind::kEnd:
      break;
  }
  return Unexpected(Peek());
}

// Parses adjacent words of digits as one vector. 1: and 2: are operators on files, which do not
// exist here.
Parser::Result Parser::Numbers() {
  const auto is_operator = [](const Token& token) {
    return token.text.size() == 2 && token.text[1] == ':';
  };
  if (is_operator(Peek())) return Name(Take());
  const size_t position = Peek().position;
  std::vector<std::string_view> words;
  do {
    words.push_back(Take().text);
  } while (Peek().kind == TokenKind::kNumber && Peek().after_blank && !is_operator(Peek()));
  absl::StatusOr<Value> value = ParseNumbers(words);
  if (!value.ok()) return AtPosition(value.status(), position);
  return Constant(*std::move(value));
}

Parser::Result Parser::Symbols() {
  std::string_view text = Take().text.substr(1);
  SymbolVector names;
  for (;;) {
    const size_t end = text.find('`');
    names.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (names.size() == 1) return Constant(Value::Symbol(names[0]));
  return Constant(Value::Symbols(std::move(names)));
}

absl::StatusOr<Parser::Parsed> Parser::NamePrimary() {
  const Token token = Take();
  constexpr std::array<std::pair<std::string_view, Query::Verb>, 4> kVerbs = {
      {{"select", Query::Verb::kSelect},
       {"exec", Query::Verb::kExec},
       {"update", Query::Verb::kUpdate},
       {"delete", Query::Verb::kDelete}}};
  for (const auto& [word, verb] : kVerbs) {
    if (token.text != word) continue;
    TS_ASSIGN_OR_RETURN(NodePtr query, QueryExpression(verb));
    return Parsed{std::move(query), false};
  }
  constexpr std::array<std::pair<std::string_view, Node::Kind>, 3> kControls = {
      {{"if", Node::Kind::kIf}, {"do", Node::Kind::kDo}, {"while", Node::Kind::kWhile}}};
  for (const auto& [word, kind] : kControls) {
    if (token.text != word || !Peek().Is(TokenKind::kOpen, "[")) continue;
    TS_ASSIGN_OR_RETURN(NodePtr control, Control(kind));
    return Parsed{std::move(control), false};
  }
  if (const Builtin* builtin = FindBuiltin(token.text)) {
    const bool is_verb = builtin->infix && !Peek().Is(TokenKind::kOpen, "[");
    return Parsed{FunctionNode(*builtin), is_verb};
  }
  TS_ASSIGN_OR_RETURN(NodePtr name, Name(token));
  return Parsed{std::move(name), false};
}

Parser::Result Parser::Name(const Token& token) {
  // x, y and z are the arguments of a lambda that names no others; using z makes it have all three.
  constexpr std::array<std::string_view, 3> kImplicit = {"x", "y", "z"};
  const auto implicit = std::ranges::find(kImplicit, token.text);
  if (lambda_ != nullptr && !lambda_->named_parameters && implicit != kImplicit.end()) {
    const auto used = static_cast<size_t>(implicit - kImplicit.begin()) + 1;
    for (size_t i = lambda_->parameters.size(); i < used; ++i) {
      lambda_->parameters.emplace_back(kImplicit[i]);
    }
  }
  NodePtr node = NewNode(Node::Kind::kName);
  node->name = token.text;
  return node;
}

// Parses an operator in place of a value, `+[1;2]` or `(+)`, or between its arguments, and the
// operators `:` and `'` at the beginning of an expression.
absl::StatusOr<Parser::Parsed> Parser::OperatorPrimary() {
  const Token token = Take();
  const bool bracket = Peek().Is(TokenKind::kOpen, "[") && !Peek().after_blank;
  const auto noun = [](Result node) -> absl::StatusOr<Parsed> {
    TS_RETURN_IF_ERROR(node.status());
    return Parsed{*std::move(node), false};
  };
  if (token.text == "$" && Peek().Is(TokenKind::kOpen, "[")) return noun(Cond(token));
  if (token.text == "::" && (AtEndOfExpression() || bracket)) return noun(Constant(Value()));
  if (token.text == "'" && !AtEndOfExpression()) return Signal(token);
  if (token.text == ":" && !bracket && !AtEndOfExpression()) return noun(Return());
  if (AtOperator(":") && !Peek().after_blank) {  // #: and the like are functions of one argument.
    if (std::optional<Value> unary = UnaryFormOf(token.text)) {
      Take();
      TS_ASSIGN_OR_RETURN(NodePtr primitive, Primitive(*std::move(unary)));
      if (!Peek().Is(TokenKind::kOpen, "[") || Peek().after_blank)
        return noun(std::move(primitive));
      TS_ASSIGN_OR_RETURN(std::vector<NodePtr> args, Bracketed());
      if (AreOfAssignment(args)) {
        return noun(BracketAssignment(FindBuiltin(token.text), std::move(args)));
      }
      return noun(AppliedInBrackets(std::move(primitive), std::move(args)));
    }
  }
  const std::optional<Iterator> iterator = FindIterator(token.text);
  if (iterator.has_value() && AtEndOfExpression()) return noun(Constant(IteratorValue(*iterator)));
  const Builtin* builtin = FindBuiltin(token.text);
  if (builtin == nullptr) return NyiError(token.text);
  return Parsed{FunctionNode(*builtin), true};
}

// Parses :x.
Parser::Result Parser::Return() {
  NodePtr node = NewNode(Node::Kind::kReturn);
  TS_ASSIGN_OR_RETURN(NodePtr value, RequiredExpression(":"));
  node->children.push_back(std::move(value));
  return Checked(std::move(node));
}

// Parses 'x, which signals an error, or '[f;g], which is f of g.
absl::StatusOr<Parser::Parsed> Parser::Signal(const Token& quote) {
  if (Peek().Is(TokenKind::kOpen, "[") && !Peek().after_blank) {
    TS_ASSIGN_OR_RETURN(std::vector<NodePtr> parts, Bracketed());
    if (parts.size() == 1 && parts[0] != nullptr) {  // '[f] is f'.
      NodePtr each = NewNode(Node::Kind::kDerived);
      each->iterator = Iterator::kEach;
      each->children.push_back(std::move(parts[0]));
      TS_ASSIGN_OR_RETURN(each, Checked(std::move(each)));
      return Parsed{std::move(each), true};
    }
    if (parts.size() != 2) return NyiError("'[");
    TS_ASSIGN_OR_RETURN(NodePtr node, MakeApply(FunctionNode(*FindBuiltin("'")), std::move(parts)));
    return Parsed{std::move(node), false};
  }
  NodePtr node = NewNode(Node::Kind::kSignal);
  TS_ASSIGN_OR_RETURN(NodePtr text, RequiredExpression(quote.text));
  node->children.push_back(std::move(text));
  TS_ASSIGN_OR_RETURN(node, Checked(std::move(node)));
  return Parsed{std::move(node), false};
}

// Parses if[c;...], do[n;...] and while[c;...].
Parser::Result Parser::Control(Node::Kind kind) {
  const Token open = Peek();
  TS_ASSIGN_OR_RETURN(std::vector<NodePtr> statements, Bracketed());
  if (statements[0] == nullptr) return ParseError("[", open.position, "nothing to test");
  return Statements(kind, std::move(statements));
}

Parser::Result Parser::Statements(Node::Kind kind, std::vector<NodePtr> statements) {
  NodePtr node = NewNode(kind);
  node->children = std::move(statements);
  return Checked(std::move(node));
}

// Parses the items between [ and ]; an empty one is a null pointer.
absl::StatusOr<std::vector<NodePtr>> Parser::Bracketed() {
  const Token open = Take();
  const Saved<bool> comma(comma_ends_, false), where(where_ends_, false);
  std::vector<NodePtr> items;
  for (;;) {
    TS_ASSIGN_OR_RETURN(NodePtr item, Expression());
    items.push_back(std::move(item));
    if (Peek().kind != TokenKind::kSemicolon) break;
    Take();
  }
  TS_RETURN_IF_ERROR(Expect(TokenKind::kClose, "]", open));
  return items;
}

// Parses $[test;a;b], $[test;a;test;b], or $[x;y], which is the cast x$y.
Parser::Result Parser::Cond(const Token& dollar) {
  TS_ASSIGN_OR_RETURN(std::vector<NodePtr> items, Bracketed());
  if (items.size() < 3) {
    return MakeApply(FunctionNode(*FindBuiltin(dollar.text)), std::move(items));
  }
  if (items.size() % 2 == 0) items.emplace_back();  // A missing `else` gives the generic null.
  for (NodePtr& item : items) {
    if (item == nullptr) {
      TS_ASSIGN_OR_RETURN(item, Constant(Value()));
    }
  }
  return Statements(Node::Kind::kCond, std::move(items));
}

// Parses (), (x), (x;y), a table, or a block [x;y].
Parser::Result Parser::Parenthesised() {
  if (Peek().text == "[") {
    TS_ASSIGN_OR_RETURN(std::vector<NodePtr> statements, Bracketed());
    return Statements(Node::Kind::kBlock, std::move(statements));
  }
  const Token open = Take();
  const Saved<bool> comma(comma_ends_, false), where(where_ends_, false);
  if (Peek().Is(TokenKind::kOpen, "[")) return TableLiteral(open);
  if (Peek().Is(TokenKind::kClose, ")")) {
    Take();
    return Constant(Value::List({}));
  }
  NodePtr list = NewNode(Node::Kind::kList);
  for (;;) {
    TS_ASSIGN_OR_RETURN(NodePtr item, Expression());
    list->children.push_back(std::move(item));
    if (Peek().kind != TokenKind::kSemicolon) break;
    Take();
  }
  TS_RETURN_IF_ERROR(Expect(TokenKind::kClose, ")", open));
  if (list->children.size() == 1) return std::move(list->children.front());
  const auto is_missing = [](const NodePtr& item) { return item == nullptr; };
  if (std::ranges::none_of(list->children, is_missing)) return Checked(std::move(list));
  if (list->children.size() > kMaxParameters) {
    return RankError("{} items in a projection, at most {}", list->children.size(), kMaxParameters);
  }
  return MakeApply(FunctionNode(*FindBuiltin("enlist")), std::move(list->children));
}

// Makes a node for a primitive from its value.
Parser::Result Parser::Primitive(const Value& value) {
  const Limits limits;
  Budget budget(limits);
  TS_ASSIGN_OR_RETURN(const Function function, FunctionOf(value, budget));
  return FunctionNode(*std::get<const Builtin*>(function));
}

// Parses [a;b] after the brace.
absl::Status Parser::Parameters(LambdaScope& scope) {
  const Token open = Take();
  scope.named_parameters = true;
  while (Peek().kind == TokenKind::kName) {
    const Token name = Take();
    if (FindBuiltin(name.text) != nullptr || IsReservedWord(name.text)) {
      return QError(absl::StatusCode::kInvalidArgument, fmt::format("assign: {}", name.text),
                    "a parameter of that name");
    }
    if (name.text.find('.') != std::string_view::npos) return NyiError(name.text);
    scope.parameters.emplace_back(name.text);
    if (!Peek().Is(TokenKind::kSemicolon, ";")) break;
    Take();
  }
  if (scope.parameters.size() > kMaxParameters) {
    return QError(
        absl::StatusCode::kInvalidArgument, "params",
        fmt::format("{} parameters, at most {}", scope.parameters.size(), kMaxParameters));
  }
  return Expect(TokenKind::kClose, "]", open);
}

// Parses {[a;b] x;y}.
Parser::Result Parser::LambdaExpression() {
  const Token open = Take();
  LambdaScope scope;
  const Saved<LambdaScope*> inside(lambda_, &scope);
  const Saved<bool> comma(comma_ends_, false), where(where_ends_, false);
  const size_t nodes_before = nodes_;
  if (Peek().Is(TokenKind::kOpen, "[")) TS_RETURN_IF_ERROR(Parameters(scope));
  auto lambda = std::make_shared<Lambda>();
  NodePtr node = NewNode(Node::Kind::kClosure);
  int below = 0;
  for (;;) {
    TS_ASSIGN_OR_RETURN(NodePtr statement, Expression());
    if (statement != nullptr) below = std::max(below, statement->depth);
    lambda->statements.push_back(std::move(statement));
    if (Peek().kind != TokenKind::kSemicolon) break;
    Take();
  }
  const Token close = Peek();
  TS_RETURN_IF_ERROR(Expect(TokenKind::kClose, "}", open));
  // Both texts are parts of the query's text.
  const char* const begin = open.text.data();
  const char* const end = close.text.data() + 1;
  lambda->source.assign(begin, end);
  if (in_k_) lambda->source.insert(0, "k)");
  lambda->parameters = std::move(scope.parameters);
  lambda->locals = std::move(scope.locals);
  std::ranges::sort(lambda->locals);
  const auto repeated = std::ranges::unique(lambda->locals);
  lambda->locals.erase(repeated.begin(), repeated.end());
  constexpr size_t kMaxLocals = 1000;  // The same as the bound on variables.
  if (lambda->locals.size() > kMaxLocals) {
    return QError(
        absl::StatusCode::kInvalidArgument, "locals",
        fmt::format("{} names are assigned, at most {}", lambda->locals.size(), kMaxLocals));
  }
  lambda->space = space_;
  lambda->nodes = nodes_ - nodes_before;
  node->closure = std::shared_ptr<const Lambda>(std::move(lambda));
  node->depth = below + 1;
  if (node->depth > max_depth_) return StackError("more than {} levels", max_depth_);
  return node;
}

}  // namespace tickstack::query
