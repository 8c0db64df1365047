#include "query/remote/part_answers.h"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/status.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/table_view.h"
#include "query/language/client_handle.h"
#include "query/language/node_copy.h"
#include "query/language/tree_of_node.h"
#include "query/language/variables.h"
#include "query/remote/remote_columns.h"

namespace tickstack::query {
namespace {

using Side = RemoteTable::Side;

Value IsIn(std::string_view column, Value items) {
  std::vector<Value> tree;
  tree.push_back(Value::Symbol("in"));
  tree.push_back(Value::Symbol(column));
  tree.push_back(std::move(items));
  return Value::List(std::move(tree));
}

Value DateIn(std::span<const int32_t> days) {
  return IsIn(kDateColumn, Value::Vector(Type::kDate, days));
}

// A condition that no row meets.
Value Never() { return IsIn("i", Value::Vector(Type::kLong, std::span<const int64_t>())); }

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

// Returns the conditions for a part, the first `count` of those of the prepared query.
absl::StatusOr<Value> ConditionsFor(Context& context, const PreparedQuery& prepared,
                                    const RemotePart& part, size_t count) {
  std::vector<Value> conditions;
  if (part.empty) {
    conditions.push_back(part.side == Side::kPast ? DateIn({}) : Never());
  } else if (part.side == Side::kPast && !part.days.empty()) {
    conditions.push_back(DateIn(part.days));
  } else if (part.day && IsKeyColumn(prepared.table, kDateColumn)) {
    // Rows of other dates will not be in the partition (disk/rows_of_date.h).
    conditions.push_back(DateIn(part.days));
  }
  for (size_t i = 0; i < count; ++i) {
    NodePtr condition = CopyOf(*prepared.query.conditions[i]);
    if (part.day) SetDate(*condition, *part.day);
    TS_ASSIGN_OR_RETURN(conditions.emplace_back(), TreeOfNode(*condition, context.budget));
  }
  if (conditions.empty()) return Value::List({});
  return QuotedTree(Value::List(std::move(conditions)));
}

// Returns the tree of a query for a part, with the first `conditions` conditions of the prepared
// one.
absl::StatusOr<Value> TreeFor(Context& context, const PreparedQuery& prepared,
                              const RemotePart& part, const Query& query, size_t conditions) {
  TS_ASSIGN_OR_RETURN(const Value tree, TreeOfQuery(query, context.budget));
  std::vector<Value> items;
  items.push_back(ItemAt(tree, 0));
  items.push_back(QuotedTree(Value::Symbol(part.table)));
  TS_ASSIGN_OR_RETURN(items.emplace_back(), ConditionsFor(context, prepared, part, conditions));
  for (size_t i = 3; i < tree.count(); ++i) items.push_back(ItemAt(tree, i));
  return Value::List(std::move(items));
}

// Returns what may take the result, if that is the answer to the client and nothing goes before it;
// else nullptr.
AnswerSink* SinkFor(Context& context, const Query& query) {
  const ClientHandle* const client = context.variables.request().client();
  if (client != nullptr && !client->is_unused()) return nullptr;
  return context.budget.SinkFor(&query);
}

}  // namespace

absl::StatusOr<Term> AskWhole(Context& context, const PreparedQuery& prepared,
                              const RemotePart& part) {
  const Query& query = prepared.query;
  TS_ASSIGN_OR_RETURN(Value tree, TreeFor(context, prepared, part, query, query.conditions.size()));
  Limits limits = context.budget.limits();
  limits.sink = SinkFor(context, prepared.original);
  TS_ASSIGN_OR_RETURN(Value answer, part.shard->Ask(part.side, part.days, std::move(tree), limits));
  TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(answer)));
  return Term(std::move(answer));
}

absl::Status AskEach(Context& context, const PreparedQuery& prepared,
                     const std::vector<RemotePart>& parts, size_t conditions,
                     QueryForPart query_for, TakeAnswer take) {
  std::vector<RemoteTable::Part> asked;
  for (const RemotePart& part : parts) {
    TS_ASSIGN_OR_RETURN(Value tree, TreeFor(context, prepared, part, query_for(part), conditions));
    asked.push_back({part.shard, part.side, part.days, std::move(tree)});
  }
  Limits limits = context.budget.limits();
  limits.sink = nullptr;
  limits.max_result_bytes = context.budget.LeftBytes();
  std::vector<absl::StatusOr<Value>> answers = prepared.table.AskAll(std::move(asked), limits);
  for (const absl::StatusOr<Value>& answer : answers) {
    if (answer.ok()) TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(*answer)));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    TS_ASSIGN_OR_RETURN(Value answer, std::move(answers[i]));
    TS_ASSIGN_OR_RETURN(const bool wants_more, take(parts[i], std::move(answer)));
    if (!wants_more) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> ColumnsIn(Context& context, const RemotePart& part, Value answer,
                                             const std::vector<std::string>& names,
                                             std::optional<std::string_view> date) {
  TS_ASSIGN_OR_RETURN(TableView view, ViewOf(std::move(answer)));
  std::vector<Value> columns;
  for (const std::string& name : names) {
    if (part.day && date == name) {
      TS_RETURN_IF_ERROR(context.budget.Charge(view.count(), sizeof(int32_t)));
      const std::vector<int32_t> dates(view.count(), *part.day);
      columns.push_back(Value::Vector(Type::kDate, std::span<const int32_t>(dates)));
      continue;
    }
    const int at = view.Find(name);
    if (at < 0) return NameError(name);
    TS_ASSIGN_OR_RETURN(Slice slice, view.ColumnAt(static_cast<size_t>(at), context.budget));
    TS_ASSIGN_OR_RETURN(columns.emplace_back(), ToValue(Term(std::move(slice)), context.budget));
  }
  return columns;
}

}  // namespace tickstack::query
