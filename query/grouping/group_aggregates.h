#pragma once

// Aggregates many groups in one pass over the rows. Each group has a state, and each row has the
// number of its group and is added to that state.
//
//   rows   number  3 1 1 0 3 ...  ->  state[3], state[1], state[1], ...  ->  an item for each group
//          item    x y z u v
//
// Cost: 1 to 2 ns per row and aggregate. This holds even if the states of all groups do not fit
// into the cache, as long as successive rows belong to groups with close numbers (group_numbers.h).
//
// Results equal those of aggregates without groups (aggregate.h), but floats are added in another
// order. So sums, averages, variances and covariances of floats agree within rounding; everything
// else agrees bit for bit.

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

enum class AggregateKind {
  kCount,
  kFirst,  // The result is the position of the first row as a long; -1 without rows.
  kLast,   // The result is the position of the last row as a long; -1 without rows.
  kSum,
  kAvg,
  kMin,
  kMax,
  kWeightedAvg,
  kWeightedSum,
  kVariance,
  kDeviation,
  kSampleVariance,
  kSampleDeviation,
  kCovariance,
  kSampleCovariance,
  kCorrelation,
};

// True for aggregates that read two columns (see AggregateInput).
constexpr bool IsOfTwoColumns(AggregateKind kind) {
  return kind == AggregateKind::kWeightedAvg || kind == AggregateKind::kWeightedSum ||
         kind >= AggregateKind::kCovariance;
}

// The columns that an aggregate reads: none for kCount, kFirst and kLast; both if IsOfTwoColumns;
// else `values`. For covariances and correlations, `weights` is the left argument.
struct AggregateInput {
  std::optional<Slice> weights;
  std::optional<Slice> values;
};

// Threads: one thread at a time calls AddRows, Join and Merge. AddGroup may run concurrently for
// different groups.
class GroupAccumulator {
 public:
  virtual ~GroupAccumulator() = default;

  // Adds successive rows, the first of which is at `position`. `numbers` has the number of each
  // row's group, and each slice of `input` has an item for each row. Charges nothing, so that a
  // task may call it.
  virtual absl::Status AddRows(size_t position, std::span<const uint32_t> numbers,
                               const AggregateInput& input, const Budget& budget) = 0;
  // Adds rows of one group: all rows of the slices of `input`.
  virtual absl::Status AddGroup(uint32_t number, const AggregateInput& input,
                                const Budget& budget) = 0;
  // Adds the state of group `later` to that of group `number`. The rows of `later` come after those
  // of `number`.
  virtual void Join(uint32_t number, uint32_t later) = 0;
  // Adds the states of another accumulator of the same kind, whose rows come after those of this
  // one.
  virtual void Merge(const GroupAccumulator& later) = 0;
  // Returns the results as a vector, with an item for each group number in `order`.
  virtual Value Finish(std::span<const uint32_t> order) const = 0;
};

// Returns an accumulator for groups 0 to slots - 1, over columns of these types; nullptr if there
// is none for these types. The type of a column that the aggregate does not read does not matter.
std::unique_ptr<GroupAccumulator> MakeAccumulator(AggregateKind kind, Type weights, Type values,
                                                  uint32_t slots);

// Bytes to charge for each group: an upper bound on its state and its item of the result.
inline constexpr size_t kAccumulatorBytes = 56;

}  // namespace tickstack::query
