#include "query/language/variables.h"

#include <algorithm>
#include <utility>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/language/function_value.h"
#include "query/language/functions.h"

namespace tickstack::query {
namespace {

// Approximate bytes of a node of a lambda.
constexpr size_t kNodeBytes = 256;
// Names are compared with each other, so the client must not be able to send any number of them.
constexpr size_t kMaxVariables = 1000;

// Adds up the bytes of a value block by block; fails with `stack` if the value is too deep.
class Count {
 public:
  explicit Count(bool as_gathered) : as_gathered_(as_gathered) {}
  absl::Status Add(const Value& value, int depth = 0);
  absl::Status Add(const Term& term);
  const Budget::Amount& amount() const { return amount_; }

 private:
  absl::Status Add(const ViewColumn& column);
  absl::Status Add(const Function& function);
  void AddBlock(size_t bytes) {
    amount_.bytes += bytes;
    if (bytes < kLargeBlockBytes) amount_.dram_bytes += bytes;
  }
  void AddDram(size_t bytes) {
    amount_.bytes += bytes;
    amount_.dram_bytes += bytes;
  }

  const bool as_gathered_;
  Budget::Amount amount_;
};

absl::Status Count::Add(const Value& value, int depth) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  if (value.is_list()) {
    AddDram(sizeof(Value));
    for (const Value& item : value.items()) TS_RETURN_IF_ERROR(Add(item, depth + 1));
    return absl::OkStatus();
  }
  if (value.is_dict() || value.is_table()) {
    AddDram(sizeof(Value));
    TS_RETURN_IF_ERROR(Add(value.keys(), depth + 1));
    return Add(value.values(), depth + 1);
  }
  AddBlock(ApproximateBytes(value));
  return absl::OkStatus();
}

absl::Status Count::Add(const ViewColumn& column) {
  const AnyColumn* const gathered = column.gathered();
  if (gathered != nullptr && gathered->value() != nullptr) return Add(*gathered->value());
  if (as_gathered_ && column.is_deferred()) {
    const Type type = column.type();
    AddBlock(column.rows() * (IsFixedWidth(type) ? WidthOf(type) : sizeof(Value)));
  }
  return absl::OkStatus();
}

absl::Status Count::Add(const Function& function) {
  AddDram(sizeof(Term));
  if (const auto* lambda = std::get_if<std::shared_ptr<const Lambda>>(&function)) {
    AddDram((*lambda)->source.size() + (*lambda)->nodes * kNodeBytes);
  } else if (const auto* projection = std::get_if<std::shared_ptr<const Projection>>(&function)) {
    TS_RETURN_IF_ERROR(Add((*projection)->function));
    for (const std::optional<Term>& arg : (*projection)->args) {
      if (arg.has_value()) TS_RETURN_IF_ERROR(Add(*arg));
    }
  } else if (const auto* derived = std::get_if<std::shared_ptr<const Derived>>(&function)) {
    return Add((*derived)->inner);
  } else if (const auto* composed = std::get_if<std::shared_ptr<const Composition>>(&function)) {
    TS_RETURN_IF_ERROR(Add((*composed)->outer));
    return Add((*composed)->inner);
  }
  return absl::OkStatus();
}

absl::Status Count::Add(const Term& term) {
  if (const auto* value = std::get_if<Value>(&term)) return Add(*value);
  if (const auto* function = std::get_if<Function>(&term)) return Add(*function);
  AddDram(sizeof(Term));
  if (const auto* slice = std::get_if<Slice>(&term)) {
    const Value* const value = slice->column.value();
    return value == nullptr ? absl::OkStatus() : Add(*value);
  }
  for (const ViewColumn& column : std::get<TableView>(term).columns) {
    TS_RETURN_IF_ERROR(Add(column));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Budget::Amount> CheckedBytes(const Term& term, bool as_gathered) {
  Count count(as_gathered);
  TS_RETURN_IF_ERROR(count.Add(term));
  return count.amount();
}

absl::StatusOr<Term> Shared(Term term, Budget& budget) {
  auto* value = std::get_if<Value>(&term);
  if (value == nullptr) return term;
  if (value->is_vector() || value->is_list()) return Term(Slice::Of(std::move(*value)));
  if (value->is_table() || value->is_keyed_table()) {
    TS_ASSIGN_OR_RETURN(TableView view, ViewOf(std::move(*value)));
    return Term(std::move(view));
  }
  if (value->is_function() && !value->is_null()) {
    TS_ASSIGN_OR_RETURN(Function function, FunctionOf(*value, budget));
    return Term(std::move(function));
  }
  return term;
}

absl::Status HeldTerm::Set(Term term) {
  TS_ASSIGN_OR_RETURN(const Budget::Amount bytes, CheckedBytes(term, true));
  budget_.Release(std::exchange(bytes_, {}));
  TS_RETURN_IF_ERROR(budget_.Hold(bytes));
  bytes_ = bytes;
  term_ = std::move(term);
  return absl::OkStatus();
}

Frame::~Frame() {
  for (const Variable& variable : variables_) budget_.Release(variable.held_bytes);
}

bool Frame::IsLocal(std::string_view name) const {
  if (lambda_ == nullptr) return false;
  const Lambda& lambda = **lambda_;
  return std::ranges::find(lambda.parameters, name) != lambda.parameters.end() ||
         std::ranges::find(lambda.locals, name) != lambda.locals.end();
}

Frame::Variable* Frame::FindVariable(std::string_view name) {
  const auto found = std::ranges::find(variables_, name, &Variable::name);
  return found == variables_.end() ? nullptr : &*found;
}

const Term* Frame::Find(std::string_view name) const {
  const auto found = std::ranges::find(variables_, name, &Variable::name);
  return found == variables_.end() || !found->term.has_value() ? nullptr : &*found->term;
}

absl::Status Frame::Assign(std::string_view name, Term term) {
  TS_ASSIGN_OR_RETURN(const Budget::Amount bytes, CheckedBytes(term, true));
  TS_ASSIGN_OR_RETURN(term, Shared(std::move(term), budget_));
  if (FindVariable(name) == nullptr && variables_.size() == kMaxVariables) {
    return LimitError("more than {} variables", kMaxVariables);
  }
  if (FindVariable(name) == nullptr) variables_.push_back({std::string(name), std::nullopt, {}});
  Variable& variable = *FindVariable(name);
  // The old value is still there until it is replaced, but only one of them is charged.
  budget_.Release(std::exchange(variable.held_bytes, {}));
  variable.term.reset();
  variable.is_view = false;
  variable.is_kept = false;
  variable.is_forgotten = false;
  TS_RETURN_IF_ERROR(budget_.Hold(bytes));
  variable.held_bytes = bytes;
  variable.term = std::move(term);
  return absl::OkStatus();
}

void Frame::Forget(std::string_view name) {
  Variable* const variable = FindVariable(name);
  if (variable == nullptr) return;
  budget_.Release(std::exchange(variable->held_bytes, {}));
  variable->term.reset();
  variable->is_view = false;
  variable->is_forgotten = true;
}

absl::Status Frame::Bind(std::string_view name, Term term) {
  const auto* const view = std::get_if<TableView>(&term);
  const bool grows =
      view != nullptr && std::ranges::any_of(view->columns, &ViewColumn::is_deferred);
  if (grows) return Assign(name, std::move(term));
  TS_ASSIGN_OR_RETURN(term, Shared(std::move(term), budget_));
  variables_.push_back({std::string(name), std::move(term), {}});
  return absl::OkStatus();
}

absl::Status Frame::AssignView(std::string_view name,
                               const std::shared_ptr<const Lambda>& expression) {
  TS_RETURN_IF_ERROR(Assign(name, Function(expression)));
  FindVariable(name)->is_view = true;
  has_views_ = true;
  return absl::OkStatus();
}

absl::Status Frame::AssignKept(std::string_view name, Term term, bool is_view) {
  TS_RETURN_IF_ERROR(Assign(name, std::move(term)));
  Variable& variable = *FindVariable(name);
  variable.is_view = is_view;
  variable.is_kept = true;
  has_views_ = has_views_ || is_view;
  return absl::OkStatus();
}

std::shared_ptr<const Lambda> Frame::ViewOfName(std::string_view name) const {
  const auto found = std::ranges::find(variables_, name, &Variable::name);
  if (found == variables_.end() || !found->is_view || !found->term.has_value()) return nullptr;
  return std::get<std::shared_ptr<const Lambda>>(std::get<Function>(*found->term));
}

std::vector<std::string> Frame::Views() const {
  std::vector<std::string> names;
  for (const Variable& variable : variables_) {
    if (variable.is_view && variable.term.has_value()) names.push_back(variable.name);
  }
  std::ranges::sort(names);
  return names;
}

void Frame::AddToTrace(std::string_view source) {
  constexpr size_t kMaxTrace = 50;
  constexpr size_t kMaxSourceBytes = 4096;
  if (trace_.size() < kMaxTrace) trace_.emplace_back(source.substr(0, kMaxSourceBytes));
}

absl::StatusOr<Value> Frame::TakeTrace(std::string_view trap, Budget& budget) {
  trace_.emplace_back(trap);
  std::vector<Value> frames;
  for (size_t i = 0; i < trace_.size(); ++i) {
    TS_RETURN_IF_ERROR(budget.Charge(2 * trace_[i].size() + 1024));
    const Value function = i + 1 == trace_.size() ? Value::Lambda(trap) : Value::String(trace_[i]);
    frames.push_back(
        Value::List({Value::List({function}),
                     Value::List({Value::String(""), Value::String(""), Value::Long(-1),
                                  Value::String(trace_[i])}),
                     Value::Long(0), Value::Long(static_cast<int64_t>(trace_.size() - i - 1))}));
  }
  trace_.clear();
  return Value::List(std::move(frames));
}

std::optional<Term> Frame::Take(std::string_view name) {
  Variable* const variable = FindVariable(name);
  return variable == nullptr ? std::nullopt : std::exchange(variable->term, std::nullopt);
}

std::string Variables::Whole(std::string_view name) const {
  if (name.starts_with("..")) return std::string(name.substr(2));  // The name of the root.
  if (space_ == "." || name.starts_with('.') || FindBuiltin(name) != nullptr ||
      IsReservedWord(name)) {
    return std::string(name);
  }
  return fmt::format("{}.{}", space_, name);
}

std::shared_ptr<const Lambda> Variables::ViewOfName(std::string_view name) const {
  if (!request_.HasViews() || (locals_ != nullptr && locals_->IsLocal(name))) return nullptr;
  return request_.ViewOfName(Whole(name));
}

bool Variables::Has(std::string_view name) const {
  return (locals_ != nullptr && locals_->IsLocal(name)) || request_.Find(Whole(name)) != nullptr;
}

Frame& Variables::FrameOf(std::string_view name) const {
  return locals_ != nullptr && locals_->IsLocal(name) ? *locals_ : request_;
}

absl::StatusOr<std::optional<Term>> Variables::Find(std::string_view name, Budget& budget) const {
  const bool local = locals_ != nullptr && locals_->IsLocal(name);
  const Term* const term = local ? locals_->Find(name) : request_.Find(Whole(name));
  // A local that was not assigned yet is the empty list, as in q.
  if (term == nullptr) return local ? std::optional<Term>(Value::List({})) : std::nullopt;
  if (const auto* value = std::get_if<Value>(term); value != nullptr && value->is_dict()) {
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(*value)));
  }
  return std::optional<Term>(*term);
}

namespace {

// Returns whether a name is in a namespace of q, such as `.Q.x`, or of the process, such as
// `.rdb.x`.
bool IsSpaceOfOthers(Context& context, std::string_view whole) {
  if (whole[0] != '.') {
    const std::vector<std::string> functions = context.environment.FunctionNames();
    return std::ranges::find(functions, whole) != functions.end();
  }
  const std::string_view space = whole.substr(0, whole.find('.', 1));
  if (space.size() == whole.size()) return true;  // It is a namespace itself.
  constexpr std::string_view kOfTheLanguage = "hjkmoQqsz";
  if (space.size() == 2 && kOfTheLanguage.find(space[1]) != std::string_view::npos) return true;
  const auto is_within = [&](const std::string& name) {
    return name.starts_with(space) && name.size() > space.size() && name[space.size()] == '.';
  };
  return std::ranges::any_of(context.environment.FunctionNames(), is_within) ||
         std::ranges::any_of(context.environment.ValueNames(), is_within);
}

}  // namespace

absl::Status CannotAssign(std::string_view name) {
  return QError(absl::StatusCode::kInvalidArgument, fmt::format("assign: {}", name),
                "what the process has cannot be changed by a request");
}

absl::StatusOr<std::optional<std::string>> VariableNamed(Context& context, const Term& term) {
  const auto* const value = std::get_if<Value>(&term);
  if (value == nullptr || !value->is_atom_of(Type::kSymbol)) return std::optional<std::string>();
  const std::string name(value->symbol());
  if (context.variables.Has(name)) return std::optional<std::string>(name);
  TS_RETURN_IF_ERROR(FindName(context, name).status());
  return CannotAssign(name);
}

absl::Status CheckAssignable(Context& context, std::string_view name) {
  const std::string whole = context.variables.Whole(name);
  // `a.b:1` would be an entry of a, not a name in a namespace.
  if (whole[0] != '.' && whole.find('.') != std::string::npos) {
    return NyiError(fmt::format("{}:", name));
  }
  Environment& environment = context.environment;
  if (FindBuiltin(whole) != nullptr || IsReservedWord(whole) || IsSpaceOfOthers(context, whole) ||
      environment.FindTable(whole).has_value() || environment.FindStored(whole) != nullptr ||
      environment.FindRemote(whole) != nullptr || environment.FindValue(whole).has_value()) {
    return CannotAssign(name);
  }
  return absl::OkStatus();
}

absl::Status AssignName(Context& context, std::string_view name, Term term) {
  Frame* const locals = context.variables.locals();
  if (locals != nullptr && locals->IsLocal(name)) {
    return locals->Assign(name, std::move(term));
  }
  TS_RETURN_IF_ERROR(CheckAssignable(context, name));
  return context.variables.request().Assign(context.variables.Whole(name), std::move(term));
}

}  // namespace tickstack::query
