#include "query/remote/remote_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "query/columns/errors.h"
#include "query/columns/table_view.h"
#include "query/language/environment.h"
#include "query/language/node_copy.h"
#include "query/language/select.h"
#include "query/remote/chosen_days.h"
#include "query/remote/chosen_parts.h"
#include "query/remote/fetched_rows.h"
#include "query/remote/part_aggregates.h"
#include "query/remote/part_answers.h"
#include "query/remote/prepared_query.h"
#include "query/remote/remote_columns.h"
#include "query/remote/remote_source.h"
#include "query/remote/shard_order.h"

namespace tickstack::query {
namespace {

using Side = RemoteTable::Side;

absl::StatusOr<Term> EvaluateOnce(Context& context, const Query& query, const RemoteTable& table,
                                  RowUse use);

// Not OK if rows of several shards may have one key.
absl::Status CheckKeys(const RemoteTable& table) {
  const std::string_view spread_by = table.ShardColumn();
  const bool unique = table.Shards().size() < 2 || table.KeyColumns() == 0 || spread_by.empty() ||
                      IsKeyColumn(table, spread_by);
  if (unique) return absl::OkStatus();
  return NyiError(
      fmt::format("{} over shards: rows of several shards may have one key, "
                  "since {} is not part of it",
                  table.name(), spread_by));
}

// Not OK if the rows of the parts cannot be joined.
absl::Status CheckColumns(const PreparedQuery& prepared, const std::vector<RemotePart>& parts) {
  const bool same = std::ranges::all_of(parts, [&](const RemotePart& part) {
    return std::ranges::is_permutation(part.shard->Columns(part.side), prepared.columns);
  });
  if (parts.size() == 1 || same) return absl::OkStatus();
  const bool sharded = prepared.table.Shards().size() > 1;
  return QError(
      absl::StatusCode::kFailedPrecondition, "schema",
      fmt::format("{} has other columns in past days than in the last ones{}",
                  prepared.table.name(), sharded ? ", or in one shard than in another" : ""));
}

// Evaluates a query over its parts, of which there is at least one. `by_days`: it chooses days, so
// its rows have the column `date`.
absl::StatusOr<Term> EvaluateOverParts(Context& context, const PreparedQuery& prepared,
                                       const std::vector<RemotePart>& parts, bool by_days,
                                       RowUse use) {
  TS_RETURN_IF_ERROR(CheckColumns(prepared, parts));
  const RemotePart& first = parts.front();
  const bool lacks_date =
      first.day.has_value() && (prepared.names_date || prepared.query.columns.empty());
  if (parts.size() == 1 && prepared.sendable && !lacks_date) {
    return AskWhole(context, prepared, first);
  }
  const ShardOrder order =
      AreOfSeveralShards(parts) ? OrderFor(prepared, use) : ShardOrder::kOfParts;
  TS_ASSIGN_OR_RETURN(std::optional<Term> combined,
                      AggregateParts(context, prepared, parts, by_days, order, use));
  if (combined.has_value()) return *std::move(combined);
  return EvaluateOverFetched(context, prepared, parts, by_days, order);
}

// Evaluates a query over no rows, in any process that has the table and answers.
absl::StatusOr<Term> EvaluateOverNoRows(Context& context, const PreparedQuery& prepared,
                                        bool by_days, RowUse use) {
  absl::StatusOr<Term> term =
      absl::UnavailableError(AbslView(fmt::format("no process has {} now", prepared.table.name())));
  for (const RemotePart& candidate : PartsWithoutRows(prepared.table, by_days)) {
    term = EvaluateOverParts(context, prepared, {candidate}, by_days, use);
    if (!absl::IsUnavailable(term.status())) break;
  }
  return term;
}

// True if one process has all rows of a query that names no days: an rdb, or if there is none, a
// process with all past days.
bool HasAllRows(const RemoteTable& table) {
  if (table.IsOn(Side::kLast)) return true;
  const std::span<const int32_t> past = table.Days(Side::kPast);
  return table.Shards().size() == 1 &&
         (past.empty() || table.DaysOfOne(Side::kPast, past) == past.size());
}

absl::StatusOr<Term> EvaluateRead(Context& context, const Query& query, const RemoteTable& table,
                                  const ChosenDays& chosen, RowUse use) {
  TS_ASSIGN_OR_RETURN(const PreparedQuery prepared,
                      Prepare(context, query, table, chosen.conditions));
  if (prepared.row_number && table.Shards().size() > 1 && !table.ShardColumn().empty()) {
    return NyiError("i over rows of several shards");
  }
  const bool by_days = chosen.conditions > 0 || prepared.names_date || !HasAllRows(table);
  const Side side = table.IsOn(Side::kLast) ? Side::kLast : Side::kPast;
  TS_ASSIGN_OR_RETURN(const std::vector<RemotePart> parts, by_days
                                                               ? PartsOfDays(prepared, chosen.days)
                                                               : PartsWithoutDays(prepared, side));
  if (prepared.row_number && parts.size() > 1) return NyiError("i over days of several processes");
  return parts.empty() ? EvaluateOverNoRows(context, prepared, by_days, use)
                       : EvaluateOverParts(context, prepared, parts, by_days, use);
}

// Returns all rows of the last days, for an `update` or `delete`.
absl::StatusOr<Term> RowsToChange(Context& context, const Query& query, const RemoteTable& table,
                                  const std::vector<std::string>& names, RowUse use) {
  if (table.Shards().size() == 1 && table.IsOn(Side::kLast)) return AllRowsOf(context, table);
  Query all;
  all.source = NameNode(table.name());
  const bool any_order = IsInAnyOrder(query, table, use) && !ChangeNeedsOrder(query, table, names);
  return EvaluateOnce(context, all, table, any_order ? RowUse{true} : RowUse{});
}

// `update` and `delete` change a copy of the rows of the last days.
absl::StatusOr<Term> EvaluateChange(Context& context, const Query& query, const RemoteTable& table,
                                    const std::vector<std::string>& names, RowUse use) {
  TS_ASSIGN_OR_RETURN(Term rows, RowsToChange(context, query, table, names, use));
  TS_ASSIGN_OR_RETURN(TableView view, ToView(context, std::move(rows)));
  return EvaluateQueryOver(context, query, std::move(view), query.conditions);
}

absl::StatusOr<Term> EvaluateOnce(Context& context, const Query& query, const RemoteTable& table,
                                  RowUse use) {
  TS_RETURN_IF_ERROR(CheckKeys(table));
  const std::vector<std::string> names = NamesOf(table);
  TS_ASSIGN_OR_RETURN(const ChosenDays chosen, ChooseDays(context, query, table, names));
  const bool reads = query.verb == Query::Verb::kSelect || query.is_exec();
  if (reads) return EvaluateRead(context, query, table, chosen, use);
  if (chosen.conditions > 0) return NyiError("update or delete over days of several processes");
  return EvaluateChange(context, query, table, names, use);
}

}  // namespace

absl::StatusOr<Term> EvaluateRemoteQuery(Context& context, const Query& query,
                                         const RemoteTable& table, RowUse use) {
  // A day that went from one side to the other meanwhile is found there by the next attempt.
  constexpr int kTries = 3;
  absl::StatusOr<Term> term = EvaluateOnce(context, query, table, use);
  for (int i = 1; i < kTries && absl::IsAborted(term.status()); ++i) {
    const std::shared_ptr<const RemoteTable> newer = context.environment.FindRemote(table.name());
    if (newer == nullptr) break;
    term = EvaluateOnce(context, query, *newer, use);
  }
  return term;
}

}  // namespace tickstack::query
