#include "query/language/select.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/grouping/group.h"
#include "query/grouping/group_keys.h"
#include "query/grouping/grouped.h"
#include "query/kernels/distinct_rows.h"
#include "query/kernels/filter.h"
#include "query/kernels/sort.h"
#include "query/language/conditions.h"
#include "query/language/evaluator.h"
#include "query/language/indexing.h"
#include "query/language/item_terms.h"
#include "query/language/namespaces.h"
#include "query/language/node_copy.h"
#include "query/language/partitions.h"
#include "query/language/update.h"
#include "query/language/variables.h"
#include "query/remote/remote_query.h"
#include "query/remote/remote_source.h"
#include "query/remote/row_order.h"

namespace tickstack::query {
namespace {

using SharedRows = std::shared_ptr<const RowSet>;

bool IsVectorOrList(const Value& value) { return value.is_vector() || value.is_list(); }

class QueryEvaluator {
 public:
  // `conditions` are the query's conditions that the view does not meet already.
  QueryEvaluator(Context& context, const Query& query, TableView view,
                 std::span<const NodePtr> conditions)
      : context_(context),
        query_(query),
        conditions_(conditions),
        view_(std::move(view)),
        rows_(view_.rows) {}

  absl::StatusOr<Term> Run() {
    TS_RETURN_IF_ERROR(CheckRows(view_));
    const bool reads = query_.verb == Query::Verb::kSelect || query_.is_exec();
    for (size_t i = 0; i < conditions_.size(); ++i) {
      if (reads && i + 1 == conditions_.size()) {
        TS_ASSIGN_OR_RETURN(std::optional<Term> done, AggregateFiltered(*conditions_[i]));
        if (done.has_value()) return *std::move(done);
      }
      TS_RETURN_IF_ERROR(Apply(*conditions_[i]));
    }
    const RemainingRows left{rows_, symbols_};
    if (query_.verb == Query::Verb::kUpdate) return UpdateTable(context_, query_, view_, left);
    if (query_.verb == Query::Verb::kDelete) return DeleteFromTable(context_, query_, view_, left);
    if (query_.grouped && query_.limit == nullptr && query_.order == nullptr) return Grouped();
    TS_RETURN_IF_ERROR(MergeSymbols());
    TS_RETURN_IF_ERROR(ApplyOrderAndLimit());
    if (query_.grouped) return Grouped();
    return query_.is_exec() ? Exec() : query_.distinct ? SelectDistinct() : Select();
  }

 private:
  // Evaluates a node with the columns at `rows` in scope.
  absl::StatusOr<Term> EvaluateAt(const Node& node, const SharedRows& rows) {
    const Scope scope{&view_, rows};
    Context inner = context_.Inside(scope);
    return EvaluateNode(inner, node);
  }

  // Applies a condition, which leaves fewer rows in `rows_` or `symbols_`.
  absl::Status Apply(const Node& condition);
  absl::StatusOr<bool> ApplyToColumn(const Node& condition);
  absl::StatusOr<bool> ApplyToTimeOfDay(const Node& condition);
  absl::StatusOr<bool> ApplyConstant(size_t column, Condition condition, const Value& constant);
  absl::Status KeepFlagged(Term flags);
  absl::StatusOr<std::optional<Term>> AggregateFiltered(const Node& condition);
  absl::Status MergeSymbols() { return RemainingRows{rows_, symbols_}.Merge(context_.budget); }
  void KeepRows(RowSet rows) { rows_ = std::make_shared<const RowSet>(std::move(rows)); }
  struct Part {
    size_t skip, take;
  };
  absl::StatusOr<Part> LimitOf(size_t count);
  absl::Status ApplyOrderAndLimit();
  absl::Status Order(const Part& part);
  // Returns the column whose name is all of the node.
  std::optional<size_t> PlainColumn(const Node& node) const { return ColumnNamed(node, view_); }

  absl::StatusOr<Term> Select();
  absl::StatusOr<Term> SelectDistinct();
  absl::StatusOr<Term> SelectPlain() const;
  absl::StatusOr<Term> SelectOf(std::vector<Value> columns);
  Term ExecOf(std::vector<Value> values) const;
  absl::StatusOr<Term> Exec();
  absl::StatusOr<Term> ExecLast() const;
  absl::StatusOr<Term> Grouped();
  absl::StatusOr<std::vector<Value>> ColumnsOverGroups(Groups& groups);
  absl::StatusOr<Term> LastRows(Groups& groups, std::vector<std::string> key_names);
  absl::StatusOr<Term> GroupedExec(Groups& groups, const std::vector<std::string>& key_names);

  Context& context_;
  const Query& query_;
  const std::span<const NodePtr> conditions_;
  TableView view_;   // Replaced by its ordered rows for select[>column].
  SharedRows rows_;  // The rows left by the conditions so far; all rows if symbols_ is set.
  std::optional<SymbolRows> symbols_;  // The rows left by the conditions, if an index has them.
};

// Applies a condition by a kernel; returns false if none knows it.
absl::StatusOr<bool> QueryEvaluator::ApplyConstant(size_t column, Condition condition,
                                                   const Value& constant) {
  if (symbols_.has_value()) {
    TS_ASSIGN_OR_RETURN(
        std::optional<SymbolRows> cut,
        FilterTimes(*symbols_, view_, column, condition, constant, context_.budget));
    if (cut.has_value()) {
      symbols_ = std::move(cut);
      return true;
    }
    TS_RETURN_IF_ERROR(MergeSymbols());
  } else {
    TS_ASSIGN_OR_RETURN(
        std::optional<SymbolRows> of_symbols,
        FilterToSymbols(view_, column, rows_, condition, constant, context_.budget));
    if (of_symbols.has_value()) {
      symbols_ = std::move(of_symbols);
      return true;
    }
  }
  TS_ASSIGN_OR_RETURN(std::optional<RowSet> kept,
                      Filter(view_, column, *rows_, condition, constant, context_.budget));
  if (!kept.has_value()) return false;
  KeepRows(*std::move(kept));
  return true;
}

// Applies `column op right` by a kernel. The right side is evaluated once, and is a constant unless
// it varies with the rows. Returns false for any other form.
absl::StatusOr<bool> QueryEvaluator::ApplyToColumn(const Node& condition) {
  const auto is_missing = [](const NodePtr& child) { return child == nullptr; };
  if (condition.kind != Node::Kind::kApply || condition.children.size() != 3 ||
      std::ranges::any_of(condition.children, is_missing)) {
    return false;
  }
  const std::optional<Condition> kind = ConditionOf(*condition.children[0]);
  const std::optional<size_t> column = PlainColumn(*condition.children[1]);
  if (!kind.has_value() || !column.has_value()) return false;
  if (!NamesNoColumn(*condition.children[2], view_)) TS_RETURN_IF_ERROR(MergeSymbols());
  TS_ASSIGN_OR_RETURN(Term right, EvaluateAt(*condition.children[2], rows_));
  if (auto* slice = std::get_if<Slice>(&right);
      slice != nullptr && kind->kind == Condition::Kind::kIn) {
    TS_ASSIGN_OR_RETURN(right, Materialise(*slice, context_.budget));
  }
  TS_RETURN_IF_ERROR(view_.columns[*column].Open(context_.budget));
  if (const auto* constant = std::get_if<Value>(&right)) {
    TS_ASSIGN_OR_RETURN(const bool done, ApplyConstant(*column, *kind, *constant));
    if (done) return true;
  }
  TS_RETURN_IF_ERROR(MergeSymbols());
  TS_ASSIGN_OR_RETURN(AnyColumn left, view_.columns[*column].Get(context_.budget));
  Term args[] = {Slice{std::move(left), rows_}, std::move(right)};
  TS_ASSIGN_OR_RETURN(Term flags, query::Apply(context_, *condition.children[0]->function, args));
  TS_RETURN_IF_ERROR(KeepFlagged(std::move(flags)));
  return true;
}

// Applies `time.minute op right` to rows of symbols out of an index, if a search can do it.
absl::StatusOr<bool> QueryEvaluator::ApplyToTimeOfDay(const Node& condition) {
  if (!symbols_.has_value()) return false;
  const std::optional<TimeOfDayCondition> found = TimeOfDayConditionOf(condition, view_);
  if (!found.has_value()) return false;
  TS_RETURN_IF_ERROR(view_.columns[found->column].Open(context_.budget));
  TS_ASSIGN_OR_RETURN(const Term right, EvaluateAt(*found->right, rows_));
  const auto* const constant = std::get_if<Value>(&right);
  if (constant == nullptr) return false;
  TS_ASSIGN_OR_RETURN(std::optional<SymbolRows> cut,
                      FilterTimesOfDay(*symbols_, view_, found->column, found->part,
                                       found->condition, *constant, context_.budget));
  if (!cut.has_value()) return false;
  symbols_ = std::move(cut);
  return true;
}

absl::Status QueryEvaluator::KeepFlagged(Term term) {
  TS_ASSIGN_OR_RETURN(const Value flags, ToValue(std::move(term), context_.budget));
  TS_RETURN_IF_ERROR(context_.budget.Charge(rows_->count(), sizeof(uint32_t)));
  TS_ASSIGN_OR_RETURN(RowSet kept, Keep(*rows_, flags));
  KeepRows(std::move(kept));
  return absl::OkStatus();
}

absl::Status QueryEvaluator::Apply(const Node& condition) {
  TS_ASSIGN_OR_RETURN(bool done, ApplyToColumn(condition));
  if (done) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(done, ApplyToTimeOfDay(condition));
  if (done) return absl::OkStatus();
  TS_RETURN_IF_ERROR(MergeSymbols());
  TS_ASSIGN_OR_RETURN(Term flags, EvaluateAt(condition, rows_));
  return KeepFlagged(std::move(flags));
}

// Returns the whole answer if only aggregates over the rows that pass the last condition remain.
absl::StatusOr<std::optional<Term>> QueryEvaluator::AggregateFiltered(const Node& condition) {
  constexpr size_t kRowsMin = size_t{1} << 16;  // Fewer rows are in the cache anyway.
  if (query_.grouped || query_.distinct || query_.limit != nullptr || query_.order != nullptr ||
      query_.columns.empty() || symbols_.has_value() || !rows_->is_range() ||
      rows_->count() < kRowsMin || condition.kind != Node::Kind::kApply ||
      condition.children.size() != 3 ||
      std::ranges::any_of(condition.children,
                          [](const NodePtr& child) { return child == nullptr; })) {
    return std::nullopt;
  }
  const std::optional<Condition> kind = ConditionOf(*condition.children[0]);
  const std::optional<size_t> column = PlainColumn(*condition.children[1]);
  if (!kind.has_value() || !column.has_value() || !NamesNoColumn(*condition.children[2], view_) ||
      !IsFixedWidth(view_.columns[*column].type())) {
    return std::nullopt;
  }
  TS_ASSIGN_OR_RETURN(const Term right, EvaluateAt(*condition.children[2], rows_));
  const auto* const constant = std::get_if<Value>(&right);
  if (constant == nullptr) return std::nullopt;
  TS_ASSIGN_OR_RETURN(const AnyColumn filtered, view_.columns[*column].Get(context_.budget));
  const std::optional<RangeFilter> filter =
      RangeFilter::Make(filtered, *rows_, *kind, *constant, context_.budget);
  if (!filter.has_value()) return std::nullopt;
  std::vector<const Node*> nodes;
  for (const NamedNode& each : query_.columns) nodes.push_back(each.node.get());
  TS_ASSIGN_OR_RETURN(std::optional<std::vector<Value>> values,
                      EvaluateOverFiltered(context_, Scope{&view_, rows_}, *filter, nodes));
  if (!values.has_value()) return std::nullopt;
  if (query_.is_exec()) return ExecOf(*std::move(values));
  TS_ASSIGN_OR_RETURN(Term table, SelectOf(*std::move(values)));
  return table;
}

// Returns the part for select[n], the first n rows or for a negative n the last ones; or select[m
// n], n rows from row m on.
absl::StatusOr<QueryEvaluator::Part> QueryEvaluator::LimitOf(size_t count) {
  if (query_.limit == nullptr) return Part{0, count};
  TS_ASSIGN_OR_RETURN(const Value limit, EvaluateToValue(context_, *query_.limit));
  const Type type = limit.type();
  const bool is_whole = type == Type::kLong || type == Type::kInt || type == Type::kShort;
  if (!is_whole) return TypeError("select[{}]", NameOf(limit.type()));
  if (limit.count() > 2) return LengthError("select[] of {} numbers", limit.count());
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < limit.count(); ++i) {
    numbers.push_back(*IndexOf(limit.is_atom() ? limit : ItemAt(limit, i)));
  }
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

// Makes a part of the ordered rows the table from which columns are taken. Gathers only that part,
// and only the columns that are named.
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

// Selects columns as they are, under their own or other names, without copying.
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
    result.stored = nullptr;  // In a selected table `i` counts all rows.
    return result;
  }
  const bool plain = std::ranges::all_of(query_.columns, [&](const NamedNode& column) {
    return PlainColumn(*column.node).has_value();
  });
  if (plain) return SelectPlain();

  std::vector<Value> columns;
  for (const NamedNode& column : query_.columns) {
    TS_ASSIGN_OR_RETURN(Term term, EvaluateAt(*column.node, rows_));
    TS_ASSIGN_OR_RETURN(columns.emplace_back(), ToValue(std::move(term), context_.budget));
  }
  return SelectOf(std::move(columns));
}

absl::StatusOr<Term> QueryEvaluator::SelectOf(std::vector<Value> columns) {
  std::vector<std::string> names;
  UniqueNames unique;
  std::optional<size_t> rows;
  for (size_t i = 0; i < columns.size(); ++i) {
    const NamedNode& column = query_.columns[i];
    const Value& value = columns[i];
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
  }
  for (Value& column : columns) {
    if (!column.is_atom()) continue;  // An atom is repeated for all rows; atoms alone make one row.
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

// Returns the value of one column without a name, or a dictionary of several columns.
absl::StatusOr<Term> QueryEvaluator::Exec() {
  if (query_.columns.empty()) return ExecLast();
  if (query_.columns.size() == 1 && !query_.columns[0].named) {
    return EvaluateAt(*query_.columns[0].node, rows_);
  }
  std::vector<Value> values;
  for (const NamedNode& column : query_.columns) {
    TS_ASSIGN_OR_RETURN(Term term, EvaluateAt(*column.node, rows_));
    TS_ASSIGN_OR_RETURN(values.emplace_back(), ToValue(std::move(term), context_.budget));
  }
  return ExecOf(std::move(values));
}

Term QueryEvaluator::ExecOf(std::vector<Value> values) const {
  if (query_.columns.size() == 1 && !query_.columns[0].named) return std::move(values[0]);
  UniqueNames unique;
  SymbolVector keys;
  for (const NamedNode& column : query_.columns) keys.push_back(unique.Next(column.name));
  return Value::Dict(Value::Symbols(std::move(keys)), Collapse(std::move(values)));
}

absl::StatusOr<std::vector<Value>> QueryEvaluator::ColumnsOverGroups(Groups& groups) {
  std::vector<const Node*> nodes;
  for (const NamedNode& column : query_.columns) nodes.push_back(column.node.get());
  return EvaluateOverGroups(context_, Scope{&view_, rows_}, groups, nodes);
}

// `select by k`: returns the last row of each group.
absl::StatusOr<Term> QueryEvaluator::LastRows(Groups& groups, std::vector<std::string> key_names) {
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> last,
                      LastRowsOf(*rows_, groups, context_.budget));
  std::vector<std::string> names = std::move(key_names);
  std::vector<Value> columns = groups.keys();
  std::vector<ColumnCopy> copies;
  std::vector<size_t> copied;  // Which columns the copies become.
  for (size_t i = 0; i < view_.columns.size(); ++i) {
    if (std::ranges::find(names, view_.names[i]) != names.end()) continue;
    TS_ASSIGN_OR_RETURN(AnyColumn whole, view_.columns[i].Get(context_.budget));
    names.push_back(view_.names[i]);
    if (IsFixedWidth(whole.type())) {
      copied.push_back(columns.size());
      copies.emplace_back(std::move(whole), last);
      columns.emplace_back();
    } else {
      TS_ASSIGN_OR_RETURN(columns.emplace_back(), GatherRows(whole, last, context_.budget));
    }
  }
  TS_RETURN_IF_ERROR(CopyAll(copies, context_.budget));
  for (size_t i = 0; i < copies.size(); ++i) columns[copied[i]] = std::move(copies[i]).Finish();
  TableView result = ViewOf(std::move(names), std::move(columns));
  result.key_columns = groups.keys().size();
  return result;
}

// Returns the columns of a phrase as one half of a dictionary. One column without a name is itself,
// or a table if its items are dictionaries with the same names; anything else is a table.
absl::StatusOr<Value> HalfOf(const std::vector<NamedNode>& phrase,
                             const std::vector<std::string>& names, std::vector<Value> columns,
                             Budget& budget) {
  if (phrase.size() == 1 && !phrase[0].named) {
    if (!columns.front().is_list()) return std::move(columns.front());
    return CollectItems(std::move(columns.front().mutable_items()), budget);
  }
  SymbolVector unique;
  for (const std::string& name : names) unique.push_back(name);
  return Value::Table(std::move(unique), std::move(columns));
}

// exec x by k: returns a dictionary of keys to values. A side with several columns, or with a named
// one, is a table.
absl::StatusOr<Term> QueryEvaluator::GroupedExec(Groups& groups,
                                                 const std::vector<std::string>& key_names) {
  if (query_.columns.empty()) return NyiError("exec by without columns");
  std::vector<std::string> names;
  UniqueNames unique;
  for (const NamedNode& column : query_.columns) names.push_back(unique.Next(column.name));
  TS_ASSIGN_OR_RETURN(std::vector<Value> columns, ColumnsOverGroups(groups));
  TS_ASSIGN_OR_RETURN(Value keys, HalfOf(query_.groups, key_names, groups.keys(), context_.budget));
  TS_ASSIGN_OR_RETURN(Value values,
                      HalfOf(query_.columns, names, std::move(columns), context_.budget));
  return Value::Dict(std::move(keys), std::move(values));
}

absl::StatusOr<Term> QueryEvaluator::Grouped() {
  if (query_.GroupsByNothing()) return NyiError(query_.is_exec() ? "exec by 0b" : "select by 0b");
  if (query_.distinct) return NyiError("select distinct by");
  std::vector<std::string> names;
  TS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Groups> groups,
      MakeGroups(context_, query_.groups, view_, RemainingRows{rows_, symbols_}, names));
  if (query_.is_exec()) return GroupedExec(*groups, names);
  if (query_.columns.empty()) return LastRows(*groups, std::move(names));

  std::vector<Value> columns = groups->keys();
  std::vector<std::string> value_names;
  UniqueNames unique;
  for (const NamedNode& column : query_.columns) {
    const std::string name = unique.Next(column.name);
    if (std::ranges::find(names, name) != names.end()) {
      return QError(absl::StatusCode::kInvalidArgument,
                    fmt::format("dup names for cols/groups {}", name), "name one of them");
    }
    value_names.push_back(name);
  }
  TS_ASSIGN_OR_RETURN(std::vector<Value> values, ColumnsOverGroups(*groups));
  std::ranges::move(values, std::back_inserter(columns));
  const size_t key_columns = names.size();
  names.insert(names.end(), value_names.begin(), value_names.end());
  TableView result = ViewOf(std::move(names), std::move(columns));
  result.key_columns = key_columns;
  return result;
}

}  // namespace

absl::StatusOr<Term> EvaluateQueryOver(Context& context, const Query& query, TableView source) {
  return QueryEvaluator(context, query, std::move(source), query.conditions).Run();
}

absl::StatusOr<Term> EvaluateQueryOver(Context& context, const Query& query, TableView source,
                                       std::span<const NodePtr> conditions) {
  return QueryEvaluator(context, query, std::move(source), conditions).Run();
}

// Evaluates a query over the remote table that `source` names; nullopt if it names none.
static absl::StatusOr<std::optional<Term>> EvaluateOverRemote(Context& context, const Query& query,
                                                              const Node& source, RowUse use) {
  const std::shared_ptr<const RemoteTable> remote = RemoteSource(context, source);
  if (remote == nullptr) return std::nullopt;
  TS_ASSIGN_OR_RETURN(Term term, EvaluateRemoteQuery(context, query, *remote, use));
  return term;
}

// `delete a from d` of a dictionary or its name: returns it without these keys, or without any
// entry if none are named; nullopt for anything else.
static absl::StatusOr<std::optional<Term>> DeleteEntries(Context& context, const Query& query,
                                                         const Term& source) {
  Term named = source;
  if (const auto* name = std::get_if<Value>(&source);
      name != nullptr && name->is_atom_of(Type::kSymbol)) {
    Context outside = context.Outside();
    TS_ASSIGN_OR_RETURN(named, FindName(outside, name->symbol()));
  }
  const auto* const dict = std::get_if<Value>(&named);
  if (dict == nullptr || !dict->is_dict() || dict->is_keyed_table()) return std::nullopt;
  if (!query.conditions.empty()) return NyiError("delete from a dictionary where");
  if (query.columns.empty()) {
    Term args[] = {Value::Long(0), std::move(named)};
    TS_ASSIGN_OR_RETURN(Term none, query::Apply(context, *FindBuiltin("#"), args));
    return none;
  }
  SymbolVector keys;
  for (const NamedNode& column : query.columns) keys.push_back(column.node->name);
  Term args[] = {Value::Symbols(std::move(keys)), std::move(named)};
  TS_ASSIGN_OR_RETURN(Term left, query::Apply(context, *FindBuiltin("_"), args));
  return left;
}

// ``delete a from `.`` and ``delete a from `.ns``: forgets variables of a namespace, all of them if
// none are named. nullopt if the source names no namespace.
static absl::StatusOr<std::optional<Term>> DeleteVariables(Context& context, const Query& query) {
  const Node& source = *query.source;
  if (query.verb != Query::Verb::kDelete || source.kind != Node::Kind::kConstant ||
      !source.value.is_atom_of(Type::kSymbol)) {
    return std::nullopt;
  }
  const std::string space(source.value.symbol());
  const bool root = space == ".";
  const bool names_space =
      root || (space.size() > 1 && space[0] == '.' && space.find('.', 1) == std::string::npos);
  if (!names_space) return std::nullopt;
  if (!query.conditions.empty()) return NyiError("delete from a namespace where");
  Frame& request = context.variables.request();
  std::vector<std::string> names;
  for (const NamedNode& column : query.columns) {
    names.push_back(NameWithin(space, column.node->name));
  }
  if (query.columns.empty()) {
    request.Each([&](std::string_view name) {
      const bool within =
          root ? name[0] != '.'
               : name.size() > space.size() && name.starts_with(space) && name[space.size()] == '.';
      if (within) names.emplace_back(name);
    });
  }
  Context outside = context.Outside();
  for (const std::string& name : names) {  // Before any of them is forgotten.
    if (request.Find(name) != nullptr) continue;
    TS_RETURN_IF_ERROR(FindName(outside, name).status());
    return CannotAssign(name);
  }
  for (const std::string& name : names) request.Forget(name);
  return Term(Value::Symbol(space));
}

absl::StatusOr<Term> EvaluateQuery(Context& context, const Query& query) {
  const RowUse use = TakeRowUse(context.budget, query);
  TS_ASSIGN_OR_RETURN(std::optional<Term> forgotten, DeleteVariables(context, query));
  if (forgotten.has_value()) return *std::move(forgotten);
  std::optional<std::string> variable;
  const bool changes = query.verb == Query::Verb::kUpdate || query.verb == Query::Verb::kDelete;
  if (changes) {
    // update ... from `t changes the variable t.
    const Node& source = *query.source;
    const bool constant = source.kind == Node::Kind::kConstant;
    TS_ASSIGN_OR_RETURN(variable, VariableNamed(context, constant ? source.value : Value()));
  }
  // The result has all rows, whichever partitions the conditions select.
  const std::shared_ptr<const StoredTable> stored =
      changes ? nullptr : StoredSource(context, *query.source);
  if (stored != nullptr) {
    TS_ASSIGN_OR_RETURN(PrunedParts pruned, PruneParts(context, stored, query.conditions));
    return QueryEvaluator(context, query, ViewOf(std::move(pruned.parts)),
                          std::span(query.conditions).subspan(pruned.conditions))
        .Run();
  }
  TS_ASSIGN_OR_RETURN(std::optional<Term> remote,
                      EvaluateOverRemote(context, query, *query.source, use));
  if (remote.has_value()) return *std::move(remote);
  TS_ASSIGN_OR_RETURN(Term source, EvaluateNode(context, *query.source));
  // select from `t is select from t.
  if (const auto* name = std::get_if<Value>(&source);
      name != nullptr && name->is_atom_of(Type::kSymbol)) {
    Context outside = context.Outside();
    TS_ASSIGN_OR_RETURN(remote, EvaluateOverRemote(outside, query, *NameNode(name->symbol()), use));
    if (remote.has_value()) return *std::move(remote);
  }
  if (query.verb == Query::Verb::kDelete) {
    TS_ASSIGN_OR_RETURN(std::optional<Term> left, DeleteEntries(context, query, source));
    if (left.has_value()) {
      if (!variable.has_value()) return *std::move(left);
      TS_RETURN_IF_ERROR(AssignName(context, *variable, *std::move(left)));
      return Term(Value::Symbol(*variable));
    }
  }
  TS_ASSIGN_OR_RETURN(TableView view, ToView(context, std::move(source)));
  TS_ASSIGN_OR_RETURN(Term result, EvaluateQueryOver(context, query, std::move(view)));
  if (!variable.has_value()) return result;
  TS_RETURN_IF_ERROR(AssignName(context, *variable, std::move(result)));
  return Term(Value::Symbol(*variable));
}

}  // namespace tickstack::query
