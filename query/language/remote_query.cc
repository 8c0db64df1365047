#include "query/language/remote_query.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/concatenate.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/table_view.h"
#include "query/language/chosen_days.h"
#include "query/language/client_handle.h"
#include "query/language/evaluator.h"
#include "query/language/node_copy.h"
#include "query/language/select.h"
#include "query/language/sendable.h"
#include "query/language/split_aggregates.h"
#include "query/language/tree_of_node.h"
#include "query/language/variables.h"

namespace tickstack::query {
namespace {

using Side = RemoteTable::Side;

// Returns the columns that the table has, on the side of the last days if it is there, with `date`.
std::vector<std::string> ColumnsOf(const RemoteTable& table) {
  return table.Columns(table.IsOn(Side::kLast) ? Side::kLast : Side::kPast);
}

std::vector<std::string> WithDate(std::vector<std::string> columns) {
  columns.emplace_back(kDateColumn);
  return columns;
}

bool NamesDate(const Sendable& made) {
  return std::ranges::find(made.columns, kDateColumn) != made.columns.end();
}

Value DateIn(std::span<const int32_t> days) {
  std::vector<Value> items;
  items.push_back(Value::Symbol("in"));
  items.push_back(Value::Symbol(kDateColumn));
  items.push_back(Value::Vector(Type::kDate, days));
  return Value::List(std::move(items));
}

// A condition that no row meets.
Value Never() {
  std::vector<Value> items;
  items.push_back(Value::Symbol("in"));
  items.push_back(Value::Symbol("i"));
  items.push_back(Value::Vector(Type::kLong, std::span<const int64_t>()));
  return Value::List(std::move(items));
}

// Replaces `date` by a date.
void SetDate(Node& node, int32_t day) {
  if (node.kind == Node::Kind::kName && node.name == kDateColumn) {
    node.kind = Node::Kind::kConstant;
    node.value = Value::Date(day);
  }
  for (const NodePtr& child : node.children) {
    if (child != nullptr) SetDate(*child, day);
  }
}

class RemoteQuery {
 public:
  RemoteQuery(Context& context, const Query& query, const RemoteTable& table)
      : context_(context),
        query_(query),
        table_(table),
        columns_(ColumnsOf(table)),
        names_(WithDate(columns_)) {}

  absl::StatusOr<Term> Run() {
    TS_ASSIGN_OR_RETURN(const ChosenDays chosen, ChooseDays(context_, query_, table_, names_));
    const bool reads = query_.verb == Query::Verb::kSelect || query_.is_exec();
    if (!reads) return Change(chosen.conditions > 0);
    TS_RETURN_IF_ERROR(Prepare(chosen.conditions));
    const Side side = table_.IsOn(Side::kLast) ? Side::kLast : Side::kPast;
    // Without days, the rows are those of an rdb, or if there is none, of a process with all days.
    const std::span<const int32_t> past = table_.Days(Side::kPast);
    const bool has_all =
        side == Side::kLast || past.empty() || table_.DaysOfOne(Side::kPast, past) == past.size();
    const bool by_days = chosen.conditions > 0 || names_date_ || !has_all;
    if (!by_days) return Over({{side, table_.name(), {}, {}, false}}, /*with_date=*/false);
    const std::vector<Part> parts = PartsOf(chosen);
    if (row_number_ && parts.size() > 1) return NyiError("i over days of several processes");
    return Over(parts, /*with_date=*/true);
  }

 private:
  // Rows that one process has.
  struct Part {
    Side side;
    std::string table;
    std::vector<int32_t> days;   // Empty: those that the process has.
    std::optional<int32_t> day;  // The value of `date`, which the side does not have as a column.
    bool empty = false;          // No rows, only their types.
  };

  static std::string NameOfDay(const std::string& table, int32_t day) {
    return table + std::string(1, kOfDay) + FormatDate(day);
  }

  std::vector<Part> PartsOf(const ChosenDays& chosen) const {
    std::vector<Part> parts;
    std::span<const int32_t> past = chosen.past;
    while (!past.empty()) {
      const auto days = past.first(table_.DaysOfOne(Side::kPast, past));
      parts.push_back({Side::kPast, table_.name(), {days.begin(), days.end()}, {}});
      past = past.subspan(days.size());
    }
    for (const int32_t day : chosen.last) {
      parts.push_back({Side::kLast, NameOfDay(table_.name(), day), {day}, day});
    }
    if (!parts.empty()) return parts;
    if (table_.IsOn(Side::kPast)) return {{Side::kPast, table_.name(), {}, {}, true}};
    return {{Side::kLast, table_.name(), {}, 0, true}};
  }

  // Makes the expressions ready to be sent: conditions from the left, then the groups, then the
  // columns, in the order in which a process evaluates them.
  absl::Status Prepare(size_t conditions) {
    const auto make = [this](const Node& node) -> absl::StatusOr<NodePtr> {
      TS_ASSIGN_OR_RETURN(Sendable made, MakeSendable(context_, node, names_));
      sendable_ &= made.sendable;
      row_number_ |= made.row_number;
      for (const std::string& name : made.columns) wanted_.insert(name);
      names_date_ |= NamesDate(made);
      return std::move(made.node);
    };
    prepared_.verb = query_.verb;
    prepared_.distinct = query_.distinct;
    prepared_.descending = query_.descending;
    prepared_.grouped = query_.grouped;
    prepared_.source = NameNode(table_.name());
    bool by_item = true;
    for (size_t i = conditions; i < query_.conditions.size(); ++i) {
      TS_ASSIGN_OR_RETURN(Sendable made, MakeSendable(context_, *query_.conditions[i], names_));
      names_date_ |= NamesDate(made);
      row_number_ |= made.row_number;
      sendable_ &= made.sendable;
      by_item &= made.by_item;
      of_conditions_.insert(made.columns.begin(), made.columns.end());
      if (by_item) ++by_item_conditions_;
      prepared_.conditions.push_back(std::move(made.node));
    }
    for (const NamedNode& group : query_.groups) {
      TS_ASSIGN_OR_RETURN(NodePtr node, make(*group.node));
      prepared_.groups.push_back({group.name, group.named, std::move(node)});
    }
    if (query_.order != nullptr) {
      TS_ASSIGN_OR_RETURN(prepared_.order, make(*query_.order));
    }
    if (query_.limit != nullptr) {
      TS_ASSIGN_OR_RETURN(prepared_.limit, make(*query_.limit));
    }
    for (const NamedNode& column : query_.columns) {
      TS_ASSIGN_OR_RETURN(NodePtr node, make(*column.node));
      prepared_.columns.push_back({column.name, column.named, std::move(node)});
    }
    sendable_ &= HasFunctionalForm();
    return absl::OkStatus();
  }

  // False for `by 0b`, and for an exec by groups that has no columns or a column with the name of a
  // group: their functional forms mean something else.
  bool HasFunctionalForm() const {
    if (query_.GroupsByNothing()) return false;
    if (!query_.is_exec() || !query_.grouped) return true;
    if (query_.columns.empty()) return false;
    return std::ranges::none_of(query_.columns, [this](const NamedNode& column) {
      return std::ranges::find(query_.groups, column.name, &NamedNode::name) != query_.groups.end();
    });
  }

  absl::StatusOr<Term> Over(const std::vector<Part>& parts, bool with_date) {
    const bool same_columns = std::ranges::all_of(parts, [&](const Part& part) {
      return std::ranges::is_permutation(table_.Columns(part.side), columns_);
    });
    if (parts.size() > 1 && !same_columns) {
      return QError(
          absl::StatusCode::kFailedPrecondition, "schema",
          fmt::format("{} has other columns in past days than in the last ones", table_.name()));
    }
    const Part& first = parts.front();
    const bool all_columns = query_.columns.empty();
    const bool lacks_date = first.day.has_value() && (names_date_ || all_columns);
    if (parts.size() == 1 && sendable_ && !lacks_date) return Whole(first);
    const bool conditions_by_item = by_item_conditions_ == prepared_.conditions.size();
    if (sendable_ && conditions_by_item) {
      const std::optional<SplitQuery> split = Split(prepared_, names_);
      if (split) {
        TS_ASSIGN_OR_RETURN(std::optional<Term> combined, Combine(parts, *split));
        if (combined.has_value()) return *std::move(combined);
      }
    }
    return Locally(parts, with_date);
  }

  // Returns the conditions for a part, the first `count` of those that are not about days.
  absl::StatusOr<Value> Conditions(const Part& part, size_t count) {
    std::vector<Value> conditions;
    if (part.empty) {
      conditions.push_back(part.side == Side::kPast ? DateIn({}) : Never());
    } else if (part.side == Side::kPast && !part.days.empty()) {
      conditions.push_back(DateIn(part.days));
    }
    for (size_t i = 0; i < count; ++i) {
      NodePtr condition = CopyOf(*prepared_.conditions[i]);
      if (part.day) SetDate(*condition, *part.day);
      TS_ASSIGN_OR_RETURN(conditions.emplace_back(), TreeOfNode(*condition, context_.budget));
    }
    if (conditions.empty()) return Value::List({});
    return QuotedTree(Value::List(std::move(conditions)));
  }

  // Sends a query to a part, with the first `conditions` conditions that are not about days.
  // `sink`, if it is not nullptr, may take the answer.
  absl::StatusOr<Value> Send(const Part& part, const Query& query, size_t conditions,
                             AnswerSink* sink = nullptr) {
    TS_ASSIGN_OR_RETURN(const Value tree, TreeOfQuery(query, context_.budget));
    std::vector<Value> items;
    items.push_back(ItemAt(tree, 0));
    items.push_back(QuotedTree(Value::Symbol(part.table)));
    TS_ASSIGN_OR_RETURN(items.emplace_back(), Conditions(part, conditions));
    for (size_t i = 3; i < tree.count(); ++i) items.push_back(ItemAt(tree, i));
    Limits limits = context_.budget.limits();
    limits.sink = sink;
    TS_ASSIGN_OR_RETURN(Value answer,
                        table_.Ask(part.side, part.days, Value::List(std::move(items)), limits));
    TS_RETURN_IF_ERROR(context_.budget.Charge(ApproximateBytes(answer)));
    return answer;
  }

  // Returns what may take the result, if that is the answer to the client and nothing goes before
  // it; else nullptr.
  AnswerSink* Sink() const {
    const ClientHandle* const client = context_.variables.request().client();
    if (client != nullptr && !client->is_unused()) return nullptr;
    return context_.budget.SinkFor(&query_);
  }

  // Sends the whole query. If its result is the answer to the client, the client may get it while
  // it arrives.
  absl::StatusOr<Term> Whole(const Part& part) {
    TS_ASSIGN_OR_RETURN(Value answer, Send(part, prepared_, prepared_.conditions.size(), Sink()));
    return Term(std::move(answer));
  }

  // Joins the columns of parts, in order.
  class Joined {
   public:
    absl::Status Add(const std::string& table, std::vector<Value> columns, Budget& budget) {
      if (columns_.empty()) {
        columns_ = std::move(columns);
        return absl::OkStatus();
      }
      for (size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].type() != columns_[i].type()) {
          return QError(absl::StatusCode::kFailedPrecondition, "schema",
                        fmt::format("a column of {} is {} in one process and {} in another", table,
                                    NameOf(columns[i].type()), NameOf(columns_[i].type())));
        }
        TS_ASSIGN_OR_RETURN(columns_[i], Join(columns_[i], columns[i], budget));
      }
      return absl::OkStatus();
    }
    bool empty() const { return columns_.empty(); }
    std::vector<Value> Take() { return std::move(columns_); }

   private:
    std::vector<Value> columns_;
  };

  // Returns the columns of an answer by their names; `date` is made if the answer lacks it.
  absl::StatusOr<std::vector<Value>> ColumnsIn(Value answer, const std::vector<std::string>& names,
                                               std::optional<std::string_view> date, int32_t day) {
    TS_ASSIGN_OR_RETURN(TableView view, ViewOf(std::move(answer)));
    std::vector<Value> columns;
    for (const std::string& name : names) {
      if (date == name) {
        TS_RETURN_IF_ERROR(context_.budget.Charge(view.count(), sizeof(int32_t)));
        const std::vector<int32_t> dates(view.count(), day);
        columns.push_back(Value::Vector(Type::kDate, std::span<const int32_t>(dates)));
        continue;
      }
      const int at = view.Find(name);
      if (at < 0) return NameError(name);
      TS_ASSIGN_OR_RETURN(Slice slice, view.ColumnAt(static_cast<size_t>(at), context_.budget));
      TS_ASSIGN_OR_RETURN(columns.emplace_back(), ToValue(Term(std::move(slice)), context_.budget));
    }
    return columns;
  }

  // Lets each part aggregate its rows, and combines the results.
  // nullopt: the results do not determine that of all rows.
  absl::StatusOr<std::optional<Term>> Combine(const std::vector<Part>& parts,
                                              const SplitQuery& split) {
    std::vector<std::string> names;
    for (const NamedNode& group : split.of_part->groups) names.push_back(group.name);
    for (const NamedNode& column : split.of_part->columns) names.push_back(column.name);
    Joined joined;
    std::optional<std::vector<Value>> without_rows;
    for (const Part& part : parts) {
      const std::unique_ptr<Query> query = CopyOf(*split.of_part);
      query->source = NameNode(table_.name());
      std::optional<std::string> date;
      if (split.date_group && part.day) {
        date = query->groups[*split.date_group].name;
        query->groups.erase(query->groups.begin() + static_cast<ptrdiff_t>(*split.date_group));
        query->grouped = !query->groups.empty();
      }
      // Otherwise a vector, such as a text, would be the column.
      for (NamedNode& column : query->columns) {
        if (!query->grouped && !query->distinct)
          column.node = CallNode("enlist", std::move(column.node));
      }
      TS_ASSIGN_OR_RETURN(Value answer, Send(part, *query, prepared_.conditions.size()));
      TS_ASSIGN_OR_RETURN(std::vector<Value> columns,
                          ColumnsIn(std::move(answer), names, date, part.day.value_or(0)));
      for (size_t i = 0; i < split.of_part->columns.size() && !query_.distinct; ++i) {
        const Value& results = columns[split.of_part->groups.size() + i];
        TS_ASSIGN_OR_RETURN(const bool can,
                            CanBeCombined(context_, split.of_part->columns[i], results));
        if (!can) return std::nullopt;
      }
      // Without groups, no rows make a row, which is the result if no part has any.
      const bool has_rows = query_.distinct || std::ranges::any_of(columns.back().span<int64_t>(),
                                                                   [](int64_t n) { return n > 0; });
      if (!has_rows) {
        // `by date` alone is no group for a part without a column `date`.
        for (Value& column : columns) {
          if (query_.grouped) column = EmptyVector(column.type());
        }
        if (!without_rows) without_rows = std::move(columns);
        continue;
      }
      TS_RETURN_IF_ERROR(joined.Add(table_.name(), std::move(columns), context_.budget));
    }
    std::vector<Value> columns = joined.empty() ? *std::move(without_rows) : joined.Take();
    TS_ASSIGN_OR_RETURN(Term term, EvaluateQueryOver(context_, *split.of_results,
                                                     ViewOf(std::move(names), std::move(columns)),
                                                     /*conditions=*/{}));
    return std::optional<Term>(std::move(term));
  }

  // Fetches the rows that meet the conditions by item, with the columns that the query names, and
  // evaluates the query over them.
  absl::StatusOr<Term> Locally(const std::vector<Part>& parts, bool with_date) {
    if (row_number_) {
      // The number is that among all rows of a partition, before any condition.
      const bool one =
          parts.size() == 1 && (parts[0].side == Side::kLast || parts[0].days.size() == 1);
      if (!one) return NyiError("i over several partitions");
      by_item_conditions_ = 0;
    }
    const bool all = query_.columns.empty() || !sendable_;
    const bool fetches_conditions = by_item_conditions_ < prepared_.conditions.size();
    std::vector<std::string> names;
    if (with_date) names.emplace_back(kDateColumn);
    // A partition has its own order of columns.
    const Side side = with_date && table_.IsOn(Side::kPast) ? Side::kPast : parts.front().side;
    for (const std::string& column : table_.Columns(side)) {
      if (all || wanted_.contains(column) ||
          (fetches_conditions && of_conditions_.contains(column))) {
        names.push_back(column);
      }
    }
    // The number of rows is needed even if no column is.
    if (names.empty() && !columns_.empty()) names.push_back(columns_.front());
    Joined joined;
    for (const Part& part : parts) {
      Query fetch;
      fetch.source = NameNode(table_.name());
      for (const std::string& name : names) {
        if (!part.day || name != kDateColumn) fetch.columns.push_back({name, true, NameNode(name)});
      }
      const bool only_date = fetch.columns.empty();
      if (only_date) fetch.columns.push_back({columns_.front(), true, NameNode(columns_.front())});
      TS_ASSIGN_OR_RETURN(Value answer, Send(part, fetch, by_item_conditions_));
      TS_ASSIGN_OR_RETURN(
          std::vector<Value> columns,
          ColumnsIn(std::move(answer), names, part.day ? std::optional(kDateColumn) : std::nullopt,
                    part.day.value_or(0)));
      TS_RETURN_IF_ERROR(joined.Add(table_.name(), std::move(columns), context_.budget));
    }
    return EvaluateQueryOver(context_, prepared_, ViewOf(std::move(names), joined.Take()),
                             std::span(prepared_.conditions).subspan(by_item_conditions_));
  }

  // `update` and `delete` change a copy of the rows of the last days.
  absl::StatusOr<Term> Change(bool by_days) {
    if (by_days) return NyiError("update or delete over days of several processes");
    TS_ASSIGN_OR_RETURN(Term rows, AllRowsOf(context_, table_));
    TS_ASSIGN_OR_RETURN(TableView view, ToView(context_, std::move(rows)));
    return EvaluateQueryOver(context_, query_, std::move(view), query_.conditions);
  }

  Context& context_;
  const Query& query_;
  const RemoteTable& table_;
  const std::vector<std::string> columns_;  // Without `date`.
  const std::vector<std::string> names_;    // With `date`.
  // The query with expressions that can be sent, and without the conditions about days.
  Query prepared_;
  size_t by_item_conditions_ = 0;        // How many of them, from the first one on, go by item.
  std::set<std::string> wanted_;         // Columns that groups, order and columns name.
  std::set<std::string> of_conditions_;  // Columns that conditions name, other than days.
  bool names_date_ = false, row_number_ = false, sendable_ = true;
};

}  // namespace

std::shared_ptr<const RemoteTable> RemoteSource(Context& context, const Node& source) {
  if (source.kind != Node::Kind::kName) return nullptr;
  if (context.scope != nullptr && context.scope->view->Find(source.name) >= 0) return nullptr;
  if (context.variables.Has(source.name)) return nullptr;
  return context.environment.FindRemote(source.name);
}

absl::StatusOr<Term> EvaluateRemoteQuery(Context& context, const Query& query,
                                         const RemoteTable& table) {
  return RemoteQuery(context, query, table).Run();
}

absl::StatusOr<std::optional<Term>> ColumnOf(Context& context, const RemoteTable& table,
                                             std::string_view column) {
  const std::vector<std::string> columns = ColumnsOf(table);
  if (std::ranges::find(columns, column) == columns.end()) return std::nullopt;
  Query query;
  query.verb = Query::Verb::kExec;
  query.source = NameNode(table.name());
  query.columns.push_back({std::string(column), false, NameNode(column)});
  TS_ASSIGN_OR_RETURN(Term term, EvaluateRemoteQuery(context, query, table));
  return term;
}

absl::StatusOr<Term> AllRowsOf(Context& context, const RemoteTable& table) {
  if (!table.IsOn(Side::kLast)) {
    Query all;
    all.source = NameNode(table.name());
    return EvaluateRemoteQuery(context, all, table);
  }
  Limits limits = context.budget.limits();
  limits.sink = nullptr;
  TS_ASSIGN_OR_RETURN(Value rows, table.Ask(Side::kLast, {}, Value::Symbol(table.name()), limits));
  TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(rows)));
  return Term(std::move(rows));
}

}  // namespace tickstack::query
