#include "query/language/parser.h"

#include <algorithm>
#include <utility>

#include "query/columns/errors.h"
#include "query/language/function_value.h"
#include "query/language/lexer.h"
#include "query/language/parser_state.h"

namespace tickstack::query {

bool Parser::AtEndOfExpression() const {
  switch (Peek().kind) {
    case TokenKind::kEnd:
    case TokenKind::kClose:
    case TokenKind::kSemicolon:
      return true;
    case TokenKind::kOperator:
      return comma_ends_ && Peek().text == ",";
    case TokenKind::kName:
      return AtName("by") || AtName("from") || (where_ends_ && AtName("where"));
    case TokenKind::kNumber:
    case TokenKind::kString:
    case TokenKind::kSymbol:
    case TokenKind::kOpen:
      break;
  }
  return false;
}

absl::Status Parser::Unexpected(const Token& token) const {
  if (token.kind == TokenKind::kOperator) return AtPosition(NyiError(token.text), token.position);
  if (token.kind == TokenKind::kEnd) {
    return ParseError("parse", token.position, "the text ends where an expression is expected");
  }
  return ParseError(token.text, token.position, "not expected here");
}

absl::Status Parser::Expect(TokenKind kind, std::string_view text, const Token& opened) {
  if (Peek().Is(kind, text)) {
    Take();
    return absl::OkStatus();
  }
  if (Peek().kind == TokenKind::kEnd) {
    return ParseError(opened.text, opened.position, "opened and never closed");
  }
  return Unexpected(Peek());
}

NodePtr Parser::NewNode(Node::Kind kind) {
  ++nodes_;
  auto node = std::make_unique<Node>();
  node->kind = kind;
  return node;
}

absl::StatusOr<NodePtr> Parser::Checked(NodePtr node) const {
  int below = 0;
  for (const NodePtr& child : node->children) {
    if (child != nullptr) below = std::max(below, child->depth);
  }
  node->depth = below + 1;
  if (node->depth > max_depth_) return StackError("more than {} levels", max_depth_);
  return node;
}

Parser::Result Parser::Constant(Value value) {
  NodePtr node = NewNode(Node::Kind::kConstant);
  node->value = std::move(value);
  return node;
}

NodePtr Parser::FunctionNode(const Builtin& builtin) {
  NodePtr node = NewNode(Node::Kind::kFunction);
  node->function = &builtin;
  return node;
}

// Keeps an earlier position.
void Parser::SetPosition(Node& node, size_t position) const {
  if (!positions_ || node.position != Node::kNoPosition || position >= Node::kNoPosition) return;
  node.position = static_cast<uint32_t>(position);
}

Parser::Result Parser::MakeApply(NodePtr function, std::vector<NodePtr> args) {
  NodePtr node = NewNode(Node::Kind::kApply);
  node->position = function->position;
  node->children.push_back(std::move(function));
  for (NodePtr& arg : args) node->children.push_back(std::move(arg));
  return Checked(std::move(node));
}

// An error that names no token is at the last one that was read.
absl::StatusOr<std::vector<NodePtr>> Parser::Program() {
  absl::StatusOr<std::vector<NodePtr>> statements = AllStatements();
  if (statements.ok()) return statements;
  if (!positions_) return WithoutPosition(statements.status());
  return AtPosition(statements.status(), tokens_[at_ - std::min<size_t>(at_, 1)].position);
}

absl::StatusOr<std::vector<NodePtr>> Parser::AllStatements() {
  std::vector<NodePtr> statements;
  // A system command is a line of its own kind, such as \l file.
  if (AtOperator("\\")) {
    return NyiError(fmt::format("\\{}", Peek(1).text));
  }
  // So is a line of another language: k)x, s)select * from t. Of k, the parser knows the operators
  // with one argument, #x for count x; the rest is as in q.
  if (Peek().kind == TokenKind::kName && Peek().text.size() == 1 &&
      Peek(1).Is(TokenKind::kClose, ")")) {
    in_k_ = Peek().text == "k";
    if (!in_k_ && Peek().text != "q") return NyiError(fmt::format("{})", Peek().text));
    Take();
    Take();
  }
  for (;;) {
    TS_ASSIGN_OR_RETURN(NodePtr statement, Expression());
    statements.push_back(std::move(statement));
    if (Peek().kind == TokenKind::kEnd) return statements;
    if (Peek().kind != TokenKind::kSemicolon) return Unexpected(Peek());
    Take();
  }
}

// Parses an expression; nullptr if there is none.
Parser::Result Parser::Expression() {
  TS_ASSIGN_OR_RETURN(Parsed expression, VerbOrNoun());
  return std::move(expression.node);
}

// Parses an expression. If it ends with an operator that has nothing on its right, it is itself a
// verb, and applying it composes.
absl::StatusOr<Parser::Parsed> Parser::VerbOrNoun() {
  if (AtEndOfExpression()) return Parsed{};
  const Saved<int> level(depth_, depth_ + 1);
  if (depth_ > max_depth_) return StackError("more than {} levels", max_depth_);
  TS_ASSIGN_OR_RETURN(Parsed left, Term());
  return AfterTerm(std::move(left));
}

Parser::Result Parser::RequiredExpression(std::string_view after) {
  TS_ASSIGN_OR_RETURN(NodePtr node, Expression());
  if (node == nullptr) return NyiError(after);
  return node;
}

// Parses what follows a term, which decides what the term is: an argument of a verb, a function, or
// a name that is assigned.
absl::StatusOr<Parser::Parsed> Parser::AfterTerm(Parsed left) {
  if (AtEndOfExpression()) return left;
  if (AtIdentity()) {  // (f g::) is f of g: a composition that ends with the identity.
    Take();
    return Parsed{std::move(left.node), true};
  }
  if (AtAssignment(*left.node)) {
    TS_ASSIGN_OR_RETURN(NodePtr assignment, Assignment(std::move(left.node)));
    return Parsed{std::move(assignment), false};
  }
  if (left.verb) {
    // In q an operator needs something on its left; the functions of one argument have names. In k
    // the operators are these functions.
    if (left.node->kind == Node::Kind::kFunction) {
      const std::optional<Value> unary =
          in_k_ ? UnaryFormOf(left.node->function->name) : std::nullopt;
      if (!unary.has_value()) return NyiError(left.node->function->name);
      TS_ASSIGN_OR_RETURN(left.node, Primitive(*unary));
    }
    TS_ASSIGN_OR_RETURN(Parsed right, VerbOrNoun());
    return AppliedOrComposed(std::move(left.node), std::move(right));
  }
  TS_ASSIGN_OR_RETURN(Parsed next, Term());
  if (next.verb) return Infix(std::move(left.node), std::move(next.node));
  if (left.node->kind == Node::Kind::kFunction) {  // (+)x is flip x; other nouns have no such form.
    if (const std::optional<Value> unary = UnaryFormOf(left.node->function->name)) {
      TS_ASSIGN_OR_RETURN(left.node, Primitive(*unary));
    }
  }
  return AppliedTo(std::move(left.node), std::move(next));
}

// x + y: with nothing on the right it is a projection, with a verb there a composition, as in
// (0|+).
absl::StatusOr<Parser::Parsed> Parser::Infix(NodePtr left, NodePtr verb) {
  const bool identity = AtIdentity();  // (2*::) is 2*.
  if (identity) Take();
  TS_ASSIGN_OR_RETURN(Parsed right, identity ? Parsed{} : VerbOrNoun());
  const bool projected = right.node == nullptr;
  std::vector<NodePtr> args;
  args.push_back(std::move(left));
  args.push_back(right.verb ? nullptr : std::move(right.node));
  TS_ASSIGN_OR_RETURN(NodePtr applied, MakeApply(std::move(verb), std::move(args)));
  if (right.verb) return AppliedOrComposed(std::move(applied), std::move(right));
  return Parsed{std::move(applied), projected};
}

// f x, where x extends to the end of the expression.
absl::StatusOr<Parser::Parsed> Parser::AppliedTo(NodePtr function, Parsed right) {
  const Saved<int> level(depth_, depth_ + 1);
  if (depth_ > max_depth_) return StackError("more than {} levels", max_depth_);
  TS_ASSIGN_OR_RETURN(Parsed argument, AfterTerm(std::move(right)));
  return AppliedOrComposed(std::move(function), std::move(argument));
}

// Applies f to a noun; with a verb, composes as '[f;verb] does.
absl::StatusOr<Parser::Parsed> Parser::AppliedOrComposed(NodePtr function, Parsed argument) {
  std::vector<NodePtr> args;
  if (argument.verb) {
    args.push_back(std::move(function));
    function = FunctionNode(*FindBuiltin("'"));
  }
  args.push_back(std::move(argument.node));
  TS_ASSIGN_OR_RETURN(NodePtr node, MakeApply(std::move(function), std::move(args)));
  return Parsed{std::move(node), argument.verb};
}

// Returns whether it is a name, or items of what a name refers to.
bool Parser::IsAssignable(const Node& left) const {
  if (left.kind == Node::Kind::kName) return true;
  return left.kind == Node::Kind::kApply && left.children[0]->kind == Node::Kind::kName;
}

// Returns whether a `::` ends the expression.
bool Parser::AtIdentity() const {
  if (!AtOperator("::")) return false;
  const TokenKind next = Peek(1).kind;
  return next == TokenKind::kEnd || next == TokenKind::kClose || next == TokenKind::kSemicolon;
}

bool Parser::AtAssignment(const Node& left) const {
  if (Peek().kind != TokenKind::kOperator) return false;
  if (Peek().text == ":") return true;
  if (!IsAssignable(left)) return false;
  if (Peek().text == "::") return true;
  const Token& next = Peek(1);
  return FindBuiltin(Peek().text) != nullptr && next.Is(TokenKind::kOperator, ":") &&
         !next.after_blank;
}

// Parses name:x, name+:x, name[i]:x and name::x.
Parser::Result Parser::Assignment(NodePtr left) {
  if (!IsAssignable(*left)) {
    return QError(absl::StatusCode::kInvalidArgument, "assign", "only names are assigned");
  }
  const Token how = Take();
  const Builtin* through = nullptr;
  if (how.text != ":" && how.text != "::") {
    through = FindBuiltin(how.text);
    Take();
  }
  const bool global = how.text == "::";
  TS_ASSIGN_OR_RETURN(NodePtr node, Target(*left, through, global));
  if (global && lambda_ == nullptr && left->kind == Node::Kind::kName) return View(std::move(node));
  TS_ASSIGN_OR_RETURN(NodePtr value, RequiredExpression(how.text));
  return Assigned(std::move(node), std::move(left), std::move(value));
}

// Returns a node that assigns to what `left` names, without the value. In a lambda the name becomes
// a local one, unless it is `global`.
Parser::Result Parser::Target(const Node& left, const Builtin* through, bool global) {
  NodePtr node = NewNode(Node::Kind::kAssign);
  const bool indexed = left.kind == Node::Kind::kApply;
  node->function = through;
  node->position = left.position;
  node->name = indexed ? left.children[0]->name : left.name;
  if (IsReservedWord(node->name)) {
    return QError(absl::StatusCode::kInvalidArgument, fmt::format("assign: {}", node->name),
                  "a word of q");
  }
  // A name with a dot belongs to a namespace, even in a lambda.
  const bool local = !global && !indexed && node->name.find('.') == std::string::npos;
  if (local && lambda_ != nullptr) lambda_->locals.push_back(node->name);
  return node;
}

// Gives an assignment its value, and the indices that `left` has.
Parser::Result Parser::Assigned(NodePtr node, NodePtr left, NodePtr value) {
  node->children.push_back(std::move(value));
  const bool indexed = left->kind == Node::Kind::kApply;
  for (size_t i = 1; indexed && i < left->children.size(); ++i) {
    NodePtr& index = left->children[i];
    if (index == nullptr) {
      TS_ASSIGN_OR_RETURN(index, Constant(Value()));
    }
    node->children.push_back(std::move(index));
  }
  return Checked(std::move(node));
}

// Returns whether the arguments of `:` or `+:` in brackets are those of an assignment: :[name;x].
bool Parser::AreOfAssignment(const std::vector<NodePtr>& args) const {
  return args.size() == 2 && args[0] != nullptr && args[1] != nullptr && IsAssignable(*args[0]);
}

// Makes :[name;x] and +:[name;x], which are name:x and name+:x.
Parser::Result Parser::BracketAssignment(const Builtin* through, std::vector<NodePtr> args) {
  TS_ASSIGN_OR_RETURN(NodePtr node, Target(*args[0], through, /*global=*/false));
  return Assigned(std::move(node), std::move(args[0]), std::move(args[1]));
}

// name::x outside of a lambda: makes x a lambda without parameters.
Parser::Result Parser::View(NodePtr node) {
  const char* const begin = Peek().text.data();
  TS_ASSIGN_OR_RETURN(NodePtr expression, RequiredExpression("::"));
  const Token& last = tokens_[at_ - 1];
  auto lambda = std::make_shared<Lambda>();
  lambda->source =
      fmt::format("{{[]{}}}", std::string_view(begin, last.text.data() + last.text.size()));
  lambda->space = space_;
  lambda->nodes = nodes_;
  NodePtr closure = NewNode(Node::Kind::kClosure);
  closure->depth = expression->depth + 1;
  lambda->statements.push_back(std::move(expression));
  closure->closure = std::shared_ptr<const Lambda>(std::move(lambda));
  node->kind = Node::Kind::kView;
  node->children.push_back(std::move(closure));
  return Checked(std::move(node));
}

absl::StatusOr<std::vector<NodePtr>> Parse(std::string_view text, int max_depth,
                                           std::string_view space) {
  TS_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenise(text));
  return Parser(std::move(tokens), max_depth, space, true).Program();
}

absl::StatusOr<std::vector<NodePtr>> ParseInside(std::string_view text, Budget& budget,
                                                 std::string_view space) {
  if (text.size() > budget.max_text_bytes()) {
    return LimitError("a text of {} bytes, at most {}", text.size(), budget.max_text_bytes());
  }
  TS_RETURN_IF_ERROR(budget.Charge(text.size(), sizeof(Token)));
  absl::StatusOr<std::vector<Token>> tokens = Tokenise(text);
  if (!tokens.ok()) return WithoutPosition(tokens.status());
  TS_RETURN_IF_ERROR(budget.Charge(tokens->size(), sizeof(Node)));
  return Parser(*std::move(tokens), budget.max_depth(), space, false).Program();
}

}  // namespace tickstack::query
