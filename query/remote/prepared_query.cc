#include "query/remote/prepared_query.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "query/language/node_copy.h"
#include "query/remote/remote_columns.h"
#include "query/remote/sendable.h"

namespace tickstack::query {
namespace {

class Preparation {
 public:
  Preparation(Context& context, const Query& query, const RemoteTable& table)
      : context_(context),
        original_(query),
        prepared_{query, table, ColumnsOf(table), NamesOf(table), {}, 0, {}, {}} {
    prepared_.query.verb = query.verb;
    prepared_.query.distinct = query.distinct;
    prepared_.query.descending = query.descending;
    prepared_.query.grouped = query.grouped;
    prepared_.query.source = NameNode(table.name());
  }

  absl::StatusOr<PreparedQuery> Run(size_t day_conditions) {
    TS_RETURN_IF_ERROR(MakeConditions(day_conditions));
    TS_RETURN_IF_ERROR(MakeAll(original_.groups, prepared_.query.groups));
    if (original_.order != nullptr) {
      TS_ASSIGN_OR_RETURN(prepared_.query.order, Make(*original_.order));
    }
    if (original_.limit != nullptr) {
      TS_ASSIGN_OR_RETURN(prepared_.query.limit, Make(*original_.limit));
    }
    TS_RETURN_IF_ERROR(MakeAll(original_.columns, prepared_.query.columns));
    prepared_.sendable &= HasFunctionalForm();
    return std::move(prepared_);
  }

 private:
  absl::Status MakeConditions(size_t day_conditions) {
    bool by_item = true;
    for (size_t i = day_conditions; i < original_.conditions.size(); ++i) {
      TS_ASSIGN_OR_RETURN(Sendable made, MakeNoted(*original_.conditions[i]));
      by_item &= made.by_item;
      if (by_item) ++prepared_.conditions_by_item;
      prepared_.of_conditions.insert(made.columns.begin(), made.columns.end());
      prepared_.query.conditions.push_back(std::move(made.node));
    }
    return absl::OkStatus();
  }

  absl::Status MakeAll(const std::vector<NamedNode>& originals, std::vector<NamedNode>& made) {
    for (const NamedNode& original : originals) {
      TS_ASSIGN_OR_RETURN(NodePtr node, Make(*original.node));
      made.push_back({original.name, original.named, std::move(node)});
    }
    return absl::OkStatus();
  }

  // For groups, order, limit and columns.
  absl::StatusOr<NodePtr> Make(const Node& node) {
    TS_ASSIGN_OR_RETURN(Sendable made, MakeNoted(node));
    prepared_.wanted.insert(made.columns.begin(), made.columns.end());
    return std::move(made.node);
  }

  absl::StatusOr<Sendable> MakeNoted(const Node& node) {
    TS_ASSIGN_OR_RETURN(Sendable made, MakeSendable(context_, node, prepared_.names));
    prepared_.sendable &= made.sendable;
    prepared_.row_number |= made.row_number;
    prepared_.names_date |= std::ranges::find(made.columns, kDateColumn) != made.columns.end();
    return made;
  }

  bool HasFunctionalForm() const {
    if (original_.GroupsByNothing()) return false;
    if (!original_.is_exec() || !original_.grouped) return true;
    if (original_.columns.empty()) return false;
    return std::ranges::none_of(original_.columns, [this](const NamedNode& column) {
      return std::ranges::find(original_.groups, column.name, &NamedNode::name) !=
             original_.groups.end();
    });
  }

  Context& context_;
  const Query& original_;
  PreparedQuery prepared_;
};

}  // namespace

absl::StatusOr<PreparedQuery> Prepare(Context& context, const Query& query,
                                      const RemoteTable& table, size_t day_conditions) {
  return Preparation(context, query, table).Run(day_conditions);
}

}  // namespace tickstack::query
