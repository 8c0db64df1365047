#pragma once

// Aggregates of many groups in one pass over the rows: an accumulator for each group, and a step
// for each row with the number of its group.
//
//   rows       number  3 1 1 0 3 ...   ->   state[3], state[1], state[1], ...   ->   a vector
//              item    x y z u v                                                     over the
//              groups
//
// What bounds it: a row costs 4 bytes for its number, its items, and a visit of its state. States
// that do not fit into the cache are no misses as long as rows that are close together are of
// groups that are (group_numbers.h); then it is 1 to 2 ns a row and aggregate.
//
// Results are those of the aggregates of one column (aggregate.h) but for the order in which floats
// are added: here it is that of the rows, or of parts of them, there it goes by lanes. So sums,
// averages, variances and covariances of floats agree within rounding; all else agrees bit for bit.

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/value.h"

namespace tickstack::query {

enum class AggregateKind {
  kCount,
  kFirst,  // Of kFirst and kLast the result is a row's position, a long; -1 for a group of none.
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

// Whether it is of two columns, `weights` and `values`.
constexpr bool IsOfTwoColumns(AggregateKind kind) {
  return kind == AggregateKind::kWeightedAvg || kind == AggregateKind::kWeightedSum ||
         kind >= AggregateKind::kCovariance;
}

// The columns that an aggregate reads: none for a count and the ends, `values`, or both. Of
// covariances and correlations `weights` is the left one.
struct AggregateInput {
  std::optional<Slice> weights;
  std::optional<Slice> values;
};

// Threads: one at a time calls AddRows, Join and Merge; AddGroup as well, but for different groups
// at the same time.
class GroupAccumulator {
 public:
  virtual ~GroupAccumulator() = default;

  // Rows at positions from `position` on: `numbers` are those of their groups, and the slices of
  // `input` have an item for each. Charges nothing: a task may call it.
  virtual absl::Status AddRows(size_t position, std::span<const uint32_t> numbers,
                               const AggregateInput& input, const Budget& budget) = 0;
  // All rows of one group.
  virtual absl::Status AddGroup(uint32_t number, const AggregateInput& input,
                                const Budget& budget) = 0;
  // Adds the rows of group `later`, which come after those of group `number`, to these.
  virtual void Join(uint32_t number, uint32_t later) = 0;
  // Takes in what another one of the same kind has of rows after these.
  virtual void Merge(const GroupAccumulator& later) = 0;
  // The results of groups: a vector with an item for each number of `order`.
  virtual Value Finish(std::span<const uint32_t> order) const = 0;
};

// An accumulator for groups 0 to slots - 1, over columns of these types (any type for a column that
// the aggregate does not read). nullptr: columns of these types are not accumulated here.
std::unique_ptr<GroupAccumulator> MakeAccumulator(AggregateKind kind, Type weights, Type values,
                                                  uint32_t slots);

// Bytes of an accumulator's state for one group and its result, at most: what to charge.
inline constexpr size_t kAccumulatorBytes = 56;

}  // namespace tickstack::query
