#pragma once

// Runs the aggregates that expressions over groups need, on all threads. grouped.cc uses it.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/grouping/group.h"
#include "query/grouping/group_aggregates.h"
#include "query/grouping/grouped_expression.h"
#include "query/kernels/filter.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// For one evaluation and its thread. `scope`, `groups` and `calls` must outlive it.
class AggregateRunner {
 public:
  AggregateRunner(Context& context, const Scope& scope, Groups& groups,
                  std::span<const AggregateCall> calls)
      : context_(context),
        budget_(context.budget),
        scope_(scope),
        groups_(groups),
        calls_(calls),
        inputs_(calls.size()),
        results_(calls.size()) {}

  // Computes the aggregates for each group.
  absl::Status Run();
  // Computes the aggregates for one group: the rows of the scope that pass a filter. The scope must
  // be a range of rows. Returns false, without results, if no row passes, or if there is an
  // aggregate that is `first` or `last`, whose arguments are not just names of columns, or whose
  // type has no accumulator.
  absl::StatusOr<bool> RunFiltered(const RangeFilter& filter);
  // Returns the result of each call: a vector with an item per group; nullopt if there is no
  // accumulator for the types of its columns.
  std::vector<std::optional<Value>> Finish() && { return std::move(results_); }

 private:
  absl::StatusOr<Term> EvaluateAt(const Node& node, const std::shared_ptr<const RowSet>& rows);
  bool IsPlain(const AggregateCall& call) const;
  absl::Status FindInputs(size_t call);
  using Accumulators = std::vector<std::unique_ptr<GroupAccumulator>>;  // By call.
  std::unique_ptr<GroupAccumulator> Make(size_t call, uint32_t slots) const;
  void MakeMissing(std::vector<size_t>& calls, uint32_t slots, Accumulators& accumulators) const;
  absl::Status FromEnds(size_t call, const GroupEnds& ends);
  absl::Status ByNumbers(std::span<const size_t> plain, const GroupNumbers& numbers);
  absl::Status ByBlocks(std::vector<size_t> calls, const GroupNumbers& numbers);
  absl::Status EvaluateBlock(std::vector<size_t>& calls, const std::shared_ptr<const RowSet>& rows);
  absl::Status ByGroup(std::span<const size_t> plain);
  absl::Status BlocksByGroup(std::vector<size_t> calls);
  absl::Status GatherEnds();

  Context& context_;
  Budget& budget_;
  const Scope& scope_;
  Groups& groups_;
  const std::span<const AggregateCall> calls_;
  std::vector<AggregateInput> inputs_;  // By call: the columns, if the arguments are just names.
  std::vector<std::optional<Value>> results_;
};

// Returns the numbers of the rows at these positions in `rows`. `positions` is a vector of longs.
ScratchVector<uint32_t> RowsAtPositions(const RowSet& rows, const Value& positions);

}  // namespace tickstack::query
