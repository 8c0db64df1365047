#pragma once

// Aggregates many groups in one pass over the rows: an accumulator per group, and a step per row
// with its group's number.
//
//   rows   number  3 1 1 0 3 ...  ->  state[3], state[1], state[1], ...  ->  an item for each group
//          item    x y z u v
//
// Bound: a row costs 4 bytes for its number, its items, and an access to its state. States that do
// not fit into the cache are no misses as long as neighbouring rows belong to neighbouring groups
// (group_numbers.h); then it takes 1 to 2 ns per row and aggregate.
//
// Results equal those of aggregates of one column (aggregate.h), except for the order in which
// floats are added: here in the order of the rows, or of parts of them, there by lanes. So sums,
// averages, variances and covariances of floats agree within rounding; everything else agrees bit
// for bit.

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
  kFirst,  // For kFirst and kLast the result is a row's position as a long; -1 without rows.
  kLast,
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

// True for aggregates of two columns, `weights` and `values`.
constexpr bool IsOfTwoColumns(AggregateKind kind) {
  return kind == AggregateKind::kWeightedAvg || kind == AggregateKind::kWeightedSum ||
         kind >= AggregateKind::kCovariance;
}

// The columns that an aggregate reads: none for a count and the ends, `values`, or both. For
// covariances and correlations, `weights` is the left one.
struct AggregateInput {
  std::optional<Slice> weights;
  std::optional<Slice> values;
};

// Threads: one thread at a time calls AddRows, Join and Merge. AddGroup may run concurrently for
// different groups.
class GroupAccumulator {
 public:
  virtual ~GroupAccumulator() = default;

  // Adds rows at positions from `position` on: `numbers` are those of their groups, and the slices
  // of `input` have an item for each. Charges nothing, so a task may call it.
  virtual absl::Status AddRows(size_t position, std::span<const uint32_t> numbers,
                               const AggregateInput& input, const Budget& budget) = 0;
  // Adds all rows of one group.
  virtual absl::Status AddGroup(uint32_t number, const AggregateInput& input,
                                const Budget& budget) = 0;
  // Adds the rows of group `later`, which follow those of group `number`, to group `number`.
  virtual void Join(uint32_t number, uint32_t later) = 0;
  // Adds the state of another accumulator of the same kind, for rows after these.
  virtual void Merge(const GroupAccumulator& later) = 0;
  // Returns the results of groups: a vector with an item for each number of `order`.
  virtual Value Finish(std::span<const uint32_t> order) const = 0;
};

// Returns an accumulator for groups 0 to slots - 1, over columns of these types (any type for a
// column that the aggregate does not read). nullptr: columns of these types cannot be accumulated
// here.
std::unique_ptr<GroupAccumulator> MakeAccumulator(AggregateKind kind, Type weights, Type values,
                                                  uint32_t slots);

// Bytes to charge: an upper bound of an accumulator's state for one group and its result.
inline constexpr size_t kAccumulatorBytes = 56;

}  // namespace tickstack::query
