#include "query/language/partitions.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "query/columns/table_view.h"
#include "query/kernels/filter.h"
#include "query/language/evaluator.h"
#include "query/language/variables.h"

namespace tickstack::query {
namespace {

// The columns of a table that a condition names.
struct MentionedColumns {
  bool partition = false;  // True if it names the partition column.
  // True if it names other columns, `i`, or anything that a nested query may mean.
  bool others = false;
};

void CollectMentioned(const Node& node, const Schema& schema, MentionedColumns& mentions) {
  if (node.kind == Node::Kind::kQuery) mentions.others = true;
  if (node.kind == Node::Kind::kName) {
    const std::string_view name = BeforeDot(node.name);
    if (name == schema.columns.front().name) {
      mentions.partition = true;
    } else if (name == "i" || schema.Find(name) >= 0) {
      mentions.others = true;
    }
  }
  for (const NodePtr& child : node.children) {
    if (child != nullptr) CollectMentioned(*child, schema, mentions);
  }
}

// Calls f(first_row, rows) for consecutive rows of one part.
template <typename F>
void EachPiece(const StoredParts& parts, const RowSet& rows, F f) {
  const auto range = [&](size_t begin_row, size_t end_row) {
    EachPart(parts.layout(), begin_row, end_row,
             [&](size_t row, size_t part_end) { f(row, part_end - row); });
  };
  if (rows.is_range()) return range(rows.begin_row(), rows.end_row());
  (void)rows.EachRange(0, rows.count(), [&](size_t begin_row, size_t end_row, size_t) {
    range(begin_row, end_row);
    return absl::OkStatus();
  });
  for (const PostingRun& run : rows.runs()) {
    for (auto at = run.rows.begin(); at != run.rows.end();) {
      const StoredPart& part = parts.PartOf(*at);
      const auto end = std::lower_bound(at, run.rows.end(), part.begin_row + part.rows);
      f(size_t{*at}, static_cast<size_t>(end - at));
      at = end;
    }
  }
}

}  // namespace

std::shared_ptr<const StoredTable> StoredSource(Context& context, const Node& source) {
  if (source.kind != Node::Kind::kName) return nullptr;
  if (context.scope != nullptr && context.scope->view->Find(source.name) >= 0) return nullptr;
  if (context.variables.Has(source.name)) return nullptr;
  if (context.environment.FindTable(source.name).has_value()) return nullptr;
  return context.environment.FindStored(source.name);
}

absl::StatusOr<std::shared_ptr<const StoredParts>> AllParts(
    const std::shared_ptr<const StoredTable>& table, const Budget& budget) {
  std::vector<uint32_t> all(table->partitions());
  std::iota(all.begin(), all.end(), 0u);
  return StoredParts::Open(table, all, budget);
}

absl::StatusOr<PrunedParts> PruneParts(Context& context,
                                       const std::shared_ptr<const StoredTable>& table,
                                       std::span<const NodePtr> conditions) {
  PrunedParts pruned{nullptr, 0};
  auto kept = std::make_shared<const RowSet>(RowSet::Range(0, table->partitions()));
  if (table->is_partitioned()) {
    const TableView partitions =
        ViewOf({table->schema().columns.front().name}, {table->PartitionValues()});
    for (const NodePtr& condition : conditions) {
      MentionedColumns mentions;
      CollectMentioned(*condition, table->schema(), mentions);
      if (!mentions.partition || mentions.others) break;
      const Scope scope{&partitions, kept};
      Context inner = context.Inside(scope);
      TS_ASSIGN_OR_RETURN(const Value flags, EvaluateToValue(inner, *condition));
      TS_ASSIGN_OR_RETURN(RowSet passed, Keep(*kept, flags));
      kept = std::make_shared<const RowSet>(std::move(passed));
      ++pruned.conditions;
    }
  }
  TS_ASSIGN_OR_RETURN(pruned.parts, StoredParts::Open(table, kept->ToVector(), context.budget));
  return pruned;
}

ScratchVector<int64_t> RowsInParts(const StoredParts& parts, const RowSet& rows) {
  ScratchVector<int64_t> in_parts;
  in_parts.reserve(rows.count());
  size_t part = 0;
  for (const uint32_t row : rows.ToVector()) {
    while (row >= parts.parts()[part].begin_row + parts.parts()[part].rows) ++part;
    in_parts.push_back(static_cast<int64_t>(row - parts.parts()[part].begin_row));
  }
  return in_parts;
}

PartRuns RunsOfParts(const StoredParts& parts, const RowSet& rows) {
  PartRuns runs;
  size_t position = 0, part_end = 0;
  EachPiece(parts, rows, [&](size_t first_row, size_t n) {
    position += n;
    if (first_row < part_end) {
      runs.ends.back() = static_cast<uint32_t>(position);
      return;
    }
    const StoredPart& part = parts.PartOf(first_row);
    part_end = part.begin_row + part.rows;
    runs.ends.push_back(static_cast<uint32_t>(position));
    runs.first_rows.push_back(static_cast<uint32_t>(first_row));
  });
  return runs;
}

}  // namespace tickstack::query
