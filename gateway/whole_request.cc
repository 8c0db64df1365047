#include "gateway/whole_request.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/limits.h"
#include "query/language/ast.h"
#include "query/language/parser.h"
#include "query/language/term.h"
#include "query/remote/remote_table.h"

namespace tickstack::gateway {
namespace {

using query::Node;
using query::NodePtr;

template <size_t N>
bool IsOneOf(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

// True for functions that evaluate what a request makes, or change the process, and for those that
// may draw random numbers, which are the client's and not the link's.
bool IsForItsProcess(std::string_view name) {
  if (name == "exit") return true;  // A function of the process.
  const query::Builtin* const found = query::FindBuiltin(name);
  return found != nullptr &&
         (found->Is(query::Builtin::kInterprets) || found->Is(query::Builtin::kDraws));
}

constexpr std::array<std::string_view, 8> kTimes = {".z.p", ".z.P", ".z.n", ".z.N",
                                                    ".z.d", ".z.D", ".z.t", ".z.T"};

class Reader {
 public:
  Reader(absl::FunctionRef<bool(std::string_view)> is_own, bool has_all_days)
      : is_own_(is_own), has_all_days_(has_all_days) {}

  bool fits() const { return fits_; }
  bool only_reads() const { return only_reads_; }

  void Name(std::string_view name) {
    const std::string_view base = name.substr(0, name.find('.', 1));
    if (IsDate(base) || is_own_(name) || is_own_(base)) fits_ = false;
    if (name.starts_with(".z.") && !IsOneOf(name, kTimes)) fits_ = false;
    const bool of_hdb = name.starts_with(".Q.") || name.starts_with(".hdb");
    if ((of_hdb && !has_all_days_) || name.starts_with(".gateway")) fits_ = false;
    if (name.starts_with('.') && !IsOneOf(name, kTimes)) {
      only_reads_ = false;  // Functions of the process may change it.
      // Any other name may be in a namespace of the client.
      if (!name.starts_with(".rdb.") && !name.starts_with(".tier.") && !of_hdb) fits_ = false;
    }
    if (IsForItsProcess(name)) fits_ = false;
  }

  void Constant(const Value& value) {
    if (value.is_atom_of(Type::kSymbol)) return Symbol(value.symbol());
    if (value.is(Type::kSymbol)) {
      for (size_t i = 0; i < value.count(); ++i) Symbol(value.symbols()[i]);
    } else if (value.is_list()) {
      for (size_t i = 0; i < value.count(); ++i) Constant(query::ItemAt(value, i));
    } else if (value.is_dict() || value.is_table() || value.is_function()) {
      if (!value.is_null()) fits_ = false;
    }
  }

  void Statements(std::span<const NodePtr> statements) {
    for (const NodePtr& node : statements) {
      if (node != nullptr) Expression(*node);
    }
  }

  void Expression(const Node& node) {
    switch (node.kind) {
      case Node::Kind::kAssign:
      case Node::Kind::kView:
        fits_ = false;
        return;
      case Node::Kind::kName:
        return Name(node.name);
      case Node::Kind::kConstant:
        return Constant(node.value);
      case Node::Kind::kFunction:
        return Name(node.function->name);
      case Node::Kind::kClosure:
        // What a lambda assigns may be a variable of the request.
        fits_ = false;
        return;
      case Node::Kind::kQuery:
        return Query(*node.query);
      case Node::Kind::kApply:
        if (IsQueryOrChoice(node)) return Statements(std::span(node.children).subspan(1));
        return Statements(node.children);
      default:
        return Statements(node.children);
    }
  }

 private:
  // True for ?[t;c;b;a] and ?[c;x;y], which draw nothing.
  static bool IsQueryOrChoice(const Node& node) {
    const Node& function = *node.children[0];
    return function.kind == Node::Kind::kFunction && function.function->name == "?" &&
           node.children.size() > 3;
  }

  void Symbol(std::string_view name) {
    // In a functional form it is a column.
    if (IsDate(name) || is_own_(name)) fits_ = false;
    if (name.starts_with('.')) only_reads_ = false;  // It may be called.
  }

  void Query(const query::Query& query) {
    const bool reads = query.verb == query::Query::Verb::kSelect || query.is_exec();
    if (!reads) fits_ = false;
    for (const query::NamedNode& column : query.columns) Expression(*column.node);
    for (const query::NamedNode& group : query.groups) Expression(*group.node);
    if (query.limit != nullptr) Expression(*query.limit);
    if (query.order != nullptr) Expression(*query.order);
    Expression(*query.source);
    Statements(query.conditions);
  }

  bool IsDate(std::string_view name) const { return !has_all_days_ && name == query::kDateColumn; }

  absl::FunctionRef<bool(std::string_view)> is_own_;
  const bool has_all_days_;
  bool fits_ = true;
  bool only_reads_ = true;
};

}  // namespace

bool IsForOneProcess(const Value& request, absl::FunctionRef<bool(std::string_view)> is_own,
                     bool has_all_days, bool* only_reads) {
  Reader reader(is_own, has_all_days);
  const auto read_text = [&](std::string_view text) {
    const query::Limits limits;
    if (text.empty() || text.starts_with('\\') || text.size() > limits.max_text_bytes) return false;
    const absl::StatusOr<std::vector<NodePtr>> parsed = query::Parse(text, limits.max_depth);
    // An error is reported here, with its position.
    if (!parsed.ok()) return false;
    reader.Statements(*parsed);
    return true;
  };
  if (request.type() == Type::kChar) {
    if (!read_text(request.text())) return false;
  } else if (request.is_list() && request.count() > 0) {
    const Value function = query::ItemAt(request, 0);
    if (function.type() == Type::kChar) {
      if (!read_text(function.text())) return false;
    } else if (function.is_atom_of(Type::kSymbol)) {
      reader.Name(function.symbol());
    } else {
      return false;
    }
    for (size_t i = 1; i < request.count(); ++i) reader.Constant(query::ItemAt(request, i));
  } else {
    return false;
  }
  *only_reads = reader.only_reads();
  return reader.fits();
}

}  // namespace tickstack::gateway
