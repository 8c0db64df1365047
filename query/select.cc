#include "query/select.h"

#include <algorithm>
#include <optional>

#include "query/distinct_rows.h"
#include "query/elements.h"
#include "query/errors.h"
#include "query/evaluator.h"
#include "query/filter.h"
#include "query/gather.h"
#include "query/group.h"
#include "query/sort.h"

namespace tickstack::query {
namespace {

using SharedRows = std::shared_ptr<const RowSet>;

bool IsVectorOrList(const Value& value) { return value.is_vector() || value.is_list(); }

// Row numbers are 32 bits, and one of them means "none".
absl::Status CheckRows(const TableView& view) {
  if (view.columns.empty() || view.columns.front().rows() < kNoItem) return absl::OkStatus();
  return LimitError("a table of {} rows, at most {}", view.columns.front().rows(), kNoItem - 1);
}

class QueryEvaluator {
 public:
  QueryEvaluator(Context& context, const Query& query, TableView view)
      : context_(context), query_(query), view_(std::move(view)), rows_(view_.rows) {}

  absl::StatusOr<Term> Run() {
    TS_RETURN_IF_ERROR(CheckRows(view_));
    for (const NodePtr& condition : query_.conditions) {
      TS_ASSIGN_OR_RETURN(RowSet kept, Apply(*condition));
      rows_ = std::make_shared<const RowSet>(std::move(kept));
    }
    TS_RETURN_IF_ERROR(ApplyOrderAndLimit());
    if (query_.grouped) return Grouped();
    return query_.exec ? Exec() : query_.distinct ? SelectDistinct() : Select();
  }

 private:
  // Evaluates a node with the columns at `rows` in scope.
  absl::StatusOr<Term> EvaluateAt(const Node& node, const SharedRows& rows) {
    const Scope scope{&view_, rows};
    Context inner{context_.environment, context_.budget, &scope};
    return EvaluateNode(inner, node);
  }

  absl::StatusOr<RowSet> Apply(const Node& condition);
  absl::StatusOr<std::optional<RowSet>> ApplyToColumn(const Node& condition);
  absl::StatusOr<RowSet> KeepFlagged(Term flags);
  struct Part {
    size_t skip, take;
  };
  absl::StatusOr<Part> LimitOf(size_t count);
  absl::Status ApplyOrderAndLimit();
  absl::Status Order(const Part& part);
  // The column that a node is nothing but a name of.
  std::optional<size_t> PlainColumn(const Node& node) const;

  absl::StatusOr<Term> Select();
  absl::StatusOr<Term> SelectDistinct();
  absl::StatusOr<Term> SelectPlain() const;
  absl::StatusOr<Term> Exec();
  absl::StatusOr<Term> ExecLast() const;
  absl::StatusOr<Term> Grouped();
  absl::Status GatherNamed(const Node& node) const;
  absl::StatusOr<Groups> MakeGroups(std::vector<std::string>& names);
  absl::StatusOr<Value> ColumnOverGroups(const Node& node, const Groups& groups);
  absl::StatusOr<Term> LastRows(const Groups& groups, std::vector<std::string> key_names);
  absl::StatusOr<Term> GroupedExec(const Groups& groups, const std::vector<std::string>& key_names);

  Context& context_;
  const Query& query_;
  TableView view_;  // select[>column] replaces it by its rows in order.
  SharedRows rows_;
};

std::optional<Condition> ConditionOf(const Node& function) {
  if (function.kind != Node::Kind::kFunction) return std::nullopt;
  const std::string_view name = function.function->name;
  using Kind = Condition::Kind;
  if (name == "in") return Condition{Kind::kIn};
  if (name == "within") return Condition{Kind::kWithin};
  if (name == "like") return Condition{Kind::kLike};
  if (name == "=") return Condition{Kind::kCompare, AtomicOp::kEqual};
  if (name == "<>") return Condition{Kind::kCompare, AtomicOp::kNotEqual};
  if (name == "<") return Condition{Kind::kCompare, AtomicOp::kLess};
  if (name == ">") return Condition{Kind::kCompare, AtomicOp::kGreaterThan};
  if (name == "<=") return Condition{Kind::kCompare, AtomicOp::kLessOrEqual};
  if (name == ">=") return Condition{Kind::kCompare, AtomicOp::kGreaterOrEqual};
  return std::nullopt;
}

std::optional<size_t> QueryEvaluator::PlainColumn(const Node& node) const {
  if (node.kind != Node::Kind::kName) return std::nullopt;
  const int column = view_.Find(node.name);
  return column < 0 ? std::nullopt : std::optional(static_cast<size_t>(column));
}

// `column op right` by a kernel where there is one: the right side is evaluated once, and as long
// as it does not go with the rows one by one it is a constant.
absl::StatusOr<std::optional<RowSet>> QueryEvaluator::ApplyToColumn(const Node& condition) {
  if (condition.kind != Node::Kind::kApply || condition.children.size() != 3) return std::nullopt;
  const std::optional<Condition> kind = ConditionOf(*condition.children[0]);
  const std::optional<size_t> column = PlainColumn(*condition.children[1]);
  if (!kind.has_value() || !column.has_value()) return std::nullopt;
  TS_ASSIGN_OR_RETURN(Term right, EvaluateAt(*condition.children[2], rows_));
  if (auto* slice = std::get_if<Slice>(&right);
      slice != nullptr && kind->kind == Condition::Kind::kIn) {
    TS_ASSIGN_OR_RETURN(right, Materialise(*slice, context_.budget));
  }
  if (const auto* constant = std::get_if<Value>(&right)) {
    TS_ASSIGN_OR_RETURN(std::optional<RowSet> kept,
                        Filter(view_, *column, *rows_, *kind, *constant, context_.budget));
    if (kept.has_value()) return kept;
  }
  TS_ASSIGN_OR_RETURN(Column left, view_.columns[*column].Get(context_.budget));
  Term args[] = {Slice{std::move(left), rows_}, std::move(right)};
  TS_ASSIGN_OR_RETURN(Term flags, query::Apply(context_, *condition.children[0]->function, args));
  TS_ASSIGN_OR_RETURN(RowSet kept, KeepFlagged(std::move(flags)));
  return kept;
}

absl::StatusOr<RowSet> QueryEvaluator::KeepFlagged(Term term) {
  TS_ASSIGN_OR_RETURN(const Value flags, ToValue(std::move(term), context_.budget));
  TS_RETURN_IF_ERROR(context_.budget.Charge(rows_->count(), sizeof(uint32_t)));
  return Keep(*rows_, flags);
}

absl::StatusOr<RowSet> QueryEvaluator::Apply(const Node& condition) {
  TS_ASSIGN_OR_RETURN(std::optional<RowSet> kept, ApplyToColumn(condition));
  if (kept.has_value()) return *std::move(kept);
  TS_ASSIGN_OR_RETURN(Term flags, EvaluateAt(condition, rows_));
  return KeepFlagged(std::move(flags));
}

// select[n]: the first n rows, the last ones for a negative n; select[m n]: n rows from row m on.
absl::StatusOr<QueryEvaluator::Part> QueryEvaluator::LimitOf(size_t count) {
  if (query_.limit == nullptr) return Part{0, count};
  TS_ASSIGN_OR_RETURN(const Value limit, EvaluateToValue(context_, *query_.limit));
  if (limit.type() != Type::kLong) return TypeError("select[{}]", NameOf(limit.type()));
  const std::span<const int64_t> numbers = limit.span<int64_t>();
  if (numbers.size() == 2 && !limit.is_atom() && numbers[0] >= 0 && numbers[1] >= 0) {
    const size_t skip = std::min(count, static_cast<size_t>(numbers[0]));
    return Part{skip, std::min(count - skip, static_cast<size_t>(numbers[1]))};
  }
  if (numbers.size() != 1) return LengthError("select[] of {} numbers", numbers.size());
  if (numbers[0] >= 0) return Part{0, std::min(count, static_cast<size_t>(numbers[0]))};
  const size_t wanted = std::min(count, size_t{0} - static_cast<size_t>(numbers[0]));
  return Part{count - wanted, wanted};
}

absl::Status QueryEvaluator::ApplyOrderAndLimit() {
  if (query_.limit == nullptr && query_.order == nullptr) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const Part part, LimitOf(rows_->count()));
  if (query_.order != nullptr) return Order(part);
  rows_ = std::make_shared<const RowSet>(rows_->Slice(part.skip, part.take));
  return absl::OkStatus();
}

bool NamesRowNumber(const Node& node) {
  if (node.kind == Node::Kind::kName) return node.name == "i";
  return std::ranges::any_of(node.children, [](const NodePtr& child) {
    return child != nullptr && NamesRowNumber(*child);
  });
}

// A part of the rows in order becomes the table that columns are taken from: gathered only as far
// as they are named, and only that part.
absl::Status QueryEvaluator::Order(const Part& part) {
  if (query_.grouped) return NyiError("select[;>] by");
  for (const NamedNode& column : query_.columns) {
    if (NamesRowNumber(*column.node) && view_.Find("i") < 0) return NyiError("i in select[;>]");
  }
  TS_ASSIGN_OR_RETURN(Term term, EvaluateAt(*query_.order, rows_));
  if (!std::holds_alternative<Slice>(term)) {
    TS_ASSIGN_OR_RETURN(Value value, ToValue(std::move(term), context_.budget));
    if (!IsVectorOrList(value)) return TypeError("an order by a {}", NameOf(value.type()));
    term = Slice::Of(std::move(value));
  }
  const auto& by = std::get<Slice>(term);
  if (by.count() != rows_->count()) {
    return LengthError("an order by {} items of {} rows", by.count(), rows_->count());
  }
  const Direction direction = query_.descending ? Direction::kDescending : Direction::kAscending;
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> positions,
                      Grade(std::span(&by, 1), direction, context_.budget, part.skip + part.take));
  positions.erase(positions.begin(), positions.begin() + static_cast<ptrdiff_t>(part.skip));
  view_.rows = rows_;
  TS_ASSIGN_OR_RETURN(view_, RowsInOrder(view_, std::move(positions), context_.budget));
  rows_ = view_.rows;
  return absl::OkStatus();
}

// Columns as they are, under their own or other names: nothing is copied.
absl::StatusOr<Term> QueryEvaluator::SelectPlain() const {
  TableView result;
  result.rows = rows_;
  UniqueNames unique;
  for (const NamedNode& column : query_.columns) {
    result.names.push_back(unique.Next(column.name));
    result.columns.push_back(view_.columns[*PlainColumn(*column.node)]);
  }
  return result;
}

absl::StatusOr<Term> QueryEvaluator::Select() {
  if (query_.columns.empty()) {
    TableView result = view_;
    result.rows = rows_;
    return result;
  }
  const bool plain = std::ranges::all_of(query_.columns, [&](const NamedNode& column) {
    return PlainColumn(*column.node).has_value();
  });
  if (plain) return SelectPlain();

  std::vector<std::string> names;
  UniqueNames unique;
  std::vector<Value> columns;
  std::optional<size_t> rows;
  for (const NamedNode& column : query_.columns) {
    TS_ASSIGN_OR_RETURN(Term term, EvaluateAt(*column.node, rows_));
    TS_ASSIGN_OR_RETURN(Value value, ToValue(std::move(term), context_.budget));
    if (!IsVectorOrList(value) && !value.is_atom()) {
      return TypeError("column {} is a {}", column.name, NameOf(value.type()));
    }
    if (IsVectorOrList(value)) {
      if (rows.has_value() && *rows != value.count()) {
        return LengthError("column {} has {} items, others {}", column.name, value.count(), *rows);
      }
      rows = value.count();
    }
    names.push_back(unique.Next(column.name));
    columns.push_back(std::move(value));
  }
  for (Value& column : columns) {
    if (!column.is_atom()) continue;  // An atom goes with every row; with atoms only there is one.
    TS_RETURN_IF_ERROR(context_.budget.Charge(rows.value_or(1), 16));
    column = Repeat(column, rows.value_or(1));
  }
  return ViewOf(std::move(names), std::move(columns));
}

absl::StatusOr<Term> QueryEvaluator::SelectDistinct() {
  TS_ASSIGN_OR_RETURN(Term term, Select());
  TS_ASSIGN_OR_RETURN(TableView rows, DistinctRows(std::get<TableView>(term), context_.budget));
  return rows;
}

absl::StatusOr<Term> QueryEvaluator::ExecLast() const {
  TableView at_rows = view_;
  at_rows.rows = rows_;
  TS_ASSIGN_OR_RETURN(Value row,
                      RowAt(at_rows, rows_->count() == 0 ? kNoItem : rows_->count() - 1));
  return row;
}

// One column without a name is its value, several are a dictionary.
absl::StatusOr<Term> QueryEvaluator::Exec() {
  if (query_.columns.empty()) return ExecLast();
  if (query_.columns.size() == 1 && !query_.columns[0].named) {
    return EvaluateAt(*query_.columns[0].node, rows_);
  }
  std::vector<std::string> names;
  UniqueNames unique;
  SymbolVector keys;
  std::vector<Value> values;
  for (const NamedNode& column : query_.columns) {
    TS_ASSIGN_OR_RETURN(Term term, EvaluateAt(*column.node, rows_));
    TS_ASSIGN_OR_RETURN(Value value, ToValue(std::move(term), context_.budget));
    names.push_back(unique.Next(column.name));
    keys.push_back(names.back());
    values.push_back(std::move(value));
  }
  return Value::Dict(Value::Symbols(std::move(keys)), Collapse(std::move(values)));
}

absl::StatusOr<Groups> QueryEvaluator::MakeGroups(std::vector<std::string>& names) {
  std::vector<Slice> keys;
  UniqueNames unique;
  for (const NamedNode& group : query_.groups) {
    TS_ASSIGN_OR_RETURN(Term term, EvaluateAt(*group.node, rows_));
    names.push_back(unique.Next(group.name));
    if (const auto* slice = std::get_if<Slice>(&term)) {
      keys.push_back(*slice);
      continue;
    }
    TS_ASSIGN_OR_RETURN(Value value, ToValue(std::move(term), context_.budget));
    if (!value.is_vector()) return NyiError("by an expression that is no vector");
    keys.push_back(Slice::Of(std::move(value)));
  }
  if (keys.size() == 1) {
    TS_ASSIGN_OR_RETURN(std::optional<Groups> indexed, GroupsFromIndex(keys[0], context_.budget));
    if (indexed.has_value()) return *std::move(indexed);
  }
  return GroupByValues(keys, *rows_, context_.budget);
}

// Gathers what an expression names: it is kept beyond the group that names it first, so it is not
// among that group's temporaries.
absl::Status QueryEvaluator::GatherNamed(const Node& node) const {
  if (node.kind == Node::Kind::kName) {  // `time.minute` names the column before the dot.
    const int column = view_.Find(node.name.substr(0, node.name.find('.')));
    if (column >= 0) {
      const ViewColumn& named = view_.columns[static_cast<size_t>(column)];
      TS_RETURN_IF_ERROR(named.Get(context_.budget).status());
    }
  }
  for (const NodePtr& child : node.children) {
    if (child != nullptr) TS_RETURN_IF_ERROR(GatherNamed(*child));
  }
  return absl::OkStatus();
}

// An expression once a group: atoms become a vector, vectors a list of them.
absl::StatusOr<Value> QueryEvaluator::ColumnOverGroups(const Node& node, const Groups& groups) {
  TS_RETURN_IF_ERROR(GatherNamed(node));
  ScratchVector<Value> items;
  TS_RETURN_IF_ERROR(context_.budget.Charge(groups.count(), sizeof(Value)));
  items.reserve(groups.count());
  for (size_t group = 0; group < groups.count(); ++group) {
    {
      const Budget::Temporaries temporaries(context_.budget);
      TS_ASSIGN_OR_RETURN(Term term, EvaluateAt(node, groups.RowsOf(group)));
      TS_ASSIGN_OR_RETURN(Value value, ToValue(std::move(term), context_.budget));
      items.push_back(std::move(value));
    }
    if (items.back().is_atom()) continue;
    TS_RETURN_IF_ERROR(context_.budget.Charge(ApproximateBytes(items.back())));
  }
  if (!items.empty()) return Collapse(std::move(items));
  // No groups: the type is that of the expression over no rows.
  TS_ASSIGN_OR_RETURN(Term none, EvaluateAt(node, std::make_shared<const RowSet>()));
  TS_ASSIGN_OR_RETURN(const Value value, ToValue(std::move(none), context_.budget));
  return value.is_atom() ? EmptyVector(value.type()) : Value::List({});
}

// `select by k`: the last row of each group.
absl::StatusOr<Term> QueryEvaluator::LastRows(const Groups& groups,
                                              std::vector<std::string> key_names) {
  TS_RETURN_IF_ERROR(context_.budget.Charge(groups.count(), sizeof(uint32_t)));
  ScratchVector<uint32_t> last;
  last.reserve(groups.count());
  for (size_t group = 0; group < groups.count(); ++group) {
    const SharedRows rows = groups.RowsOf(group);
    last.push_back(static_cast<uint32_t>(rows->At(rows->count() - 1)));
  }
  std::vector<std::string> names = std::move(key_names);
  std::vector<Value> columns = groups.keys();
  for (size_t i = 0; i < view_.columns.size(); ++i) {
    if (std::ranges::find(names, view_.names[i]) != names.end()) continue;
    TS_ASSIGN_OR_RETURN(const Column whole, view_.columns[i].Get(context_.budget));
    TS_ASSIGN_OR_RETURN(Value column, GatherRows(whole, last, context_.budget));
    names.push_back(view_.names[i]);
    columns.push_back(std::move(column));
  }
  TableView result = ViewOf(std::move(names), std::move(columns));
  result.key_columns = groups.keys().size();
  return result;
}

// The columns of a phrase as the half of a dictionary: one without a name as it is, else a table.
Value HalfOf(const std::vector<NamedNode>& phrase, const std::vector<std::string>& names,
             std::vector<Value> columns) {
  if (phrase.size() == 1 && !phrase[0].named) return std::move(columns.front());
  SymbolVector unique;
  for (const std::string& name : names) unique.push_back(name);
  return Value::Table(std::move(unique), std::move(columns));
}

// exec x by k: a dictionary of keys to values; several columns or a named one are a table on their
// side.
absl::StatusOr<Term> QueryEvaluator::GroupedExec(const Groups& groups,
                                                 const std::vector<std::string>& key_names) {
  if (query_.columns.empty()) return NyiError("exec by without columns");
  std::vector<std::string> names;
  std::vector<Value> columns;
  UniqueNames unique;
  for (const NamedNode& column : query_.columns) {
    TS_ASSIGN_OR_RETURN(Value values, ColumnOverGroups(*column.node, groups));
    names.push_back(unique.Next(column.name));
    columns.push_back(std::move(values));
  }
  return Value::Dict(HalfOf(query_.groups, key_names, groups.keys()),
                     HalfOf(query_.columns, names, std::move(columns)));
}

absl::StatusOr<Term> QueryEvaluator::Grouped() {
  std::vector<std::string> names;
  TS_ASSIGN_OR_RETURN(const Groups groups, MakeGroups(names));
  if (query_.exec) return GroupedExec(groups, names);
  if (query_.distinct) return NyiError("select distinct by");
  if (query_.columns.empty()) return LastRows(groups, std::move(names));

  std::vector<Value> columns = groups.keys();
  std::vector<std::string> value_names;
  UniqueNames unique;
  for (const NamedNode& column : query_.columns) {
    TS_ASSIGN_OR_RETURN(Value value, ColumnOverGroups(*column.node, groups));
    const std::string name = unique.Next(column.name);
    if (std::ranges::find(names, name) != names.end()) {
      return QError(absl::StatusCode::kInvalidArgument,
                    fmt::format("dup names for cols/groups {}", name), "name one of them");
    }
    value_names.push_back(name);
    columns.push_back(std::move(value));
  }
  const size_t key_columns = names.size();
  names.insert(names.end(), value_names.begin(), value_names.end());
  TableView result = ViewOf(std::move(names), std::move(columns));
  result.key_columns = key_columns;
  return result;
}

}  // namespace

absl::StatusOr<Term> EvaluateQuery(Context& context, const Query& query) {
  TS_ASSIGN_OR_RETURN(Term source, EvaluateNode(context, *query.source));
  TS_ASSIGN_OR_RETURN(TableView view, ToView(context, std::move(source)));
  return QueryEvaluator(context, query, std::move(view)).Run();
}

}  // namespace tickstack::query
