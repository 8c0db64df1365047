#include "query/remote/remote_source.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "query/columns/elements.h"
#include "query/columns/table_view.h"
#include "query/language/environment.h"
#include "query/language/node_copy.h"
#include "query/language/variables.h"
#include "query/remote/remote_columns.h"
#include "query/remote/remote_query.h"

namespace tickstack::query {
namespace {

using Side = RemoteTable::Side;

// `exec count i from source`.
Query CountQuery(NodePtr source) {
  Query count;
  count.verb = Query::Verb::kExec;
  count.source = std::move(source);
  count.columns.push_back({"x", false, CallNode("count", NameNode("i"))});
  return count;
}

// True if a query is no more than columns and conditions, so that it has a row for each row that
// meets the conditions.
bool SelectsPlainly(const Node& node) {
  const Query& query = *node.query;
  const bool reads = query.verb == Query::Verb::kSelect || IsExecOfOneColumn(node);
  const bool plain = !query.grouped && !query.distinct && query.limit == nullptr;
  return reads && plain && query.order == nullptr;
}

// Asks for a value, which is no answer of the client.
absl::StatusOr<Value> AskLast(Context& context, const RemoteTable& shard, Value tree) {
  Limits limits = context.budget.limits();
  limits.sink = nullptr;
  return shard.Ask(Side::kLast, {}, std::move(tree), limits);
}

}  // namespace

std::shared_ptr<const RemoteTable> RemoteSource(Context& context, const Node& source) {
  if (source.kind != Node::Kind::kName) return nullptr;
  if (context.scope != nullptr && context.scope->view->Find(source.name) >= 0) return nullptr;
  if (context.variables.Has(source.name)) return nullptr;
  return context.environment.FindRemote(context.variables.Whole(source.name));
}

absl::StatusOr<std::optional<Term>> CountOfRows(Context& context, const Node& rows) {
  if (!SelectsPlainly(rows)) return std::nullopt;
  const Query& query = *rows.query;
  const std::shared_ptr<const RemoteTable> remote = RemoteSource(context, *query.source);
  if (remote == nullptr) return std::nullopt;
  // Any expression but a column may fail, or make another number of items.
  const bool of_columns = std::ranges::all_of(query.columns, [&remote](const NamedNode& column) {
    return column.node->kind == Node::Kind::kName && AllHaveColumn(*remote, column.node->name);
  });
  if (!of_columns) return std::nullopt;
  Query count = CountQuery(CopyOf(*query.source));
  for (const NodePtr& condition : query.conditions) count.conditions.push_back(CopyOf(*condition));
  TS_ASSIGN_OR_RETURN(Term term, EvaluateRemoteQuery(context, count, *remote));
  return term;
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

absl::StatusOr<std::optional<Term>> EvaluateWithoutRows(Context& context, const RemoteTable& table,
                                                        const Builtin& function) {
  if (function.name == "count") {
    const Query query = CountQuery(NameNode(table.name()));
    TS_ASSIGN_OR_RETURN(Term count, EvaluateRemoteQuery(context, query, table));
    return count;
  }
  absl::Status silent;  // The error of a shard that has the table and does not answer.
  for (const RemoteTable* const shard : table.Shards()) {
    if (!shard->status().ok() || !shard->IsOn(Side::kLast)) continue;
    std::vector<Value> items;
    items.push_back(Value::Symbol(function.name));
    items.push_back(Value::Symbol(table.name()));
    absl::StatusOr<Value> answer = AskLast(context, *shard, Value::List(std::move(items)));
    if (answer.ok()) return Term(*std::move(answer));
    if (!absl::IsUnavailable(answer.status())) return answer.status();
    silent.Update(answer.status());
  }
  if (!silent.ok()) return silent;
  return std::nullopt;
}

absl::StatusOr<Term> AllRowsOf(Context& context, const RemoteTable& table, RowUse use) {
  if (!table.IsOn(Side::kLast) || table.Shards().size() > 1) {
    Query all;
    all.source = NameNode(table.name());
    return EvaluateRemoteQuery(context, all, table, use);
  }
  TS_ASSIGN_OR_RETURN(Value rows, AskLast(context, table, Value::Symbol(table.name())));
  TS_RETURN_IF_ERROR(context.budget.Charge(ApproximateBytes(rows)));
  return Term(std::move(rows));
}

}  // namespace tickstack::query
