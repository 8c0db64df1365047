#include "query/grouping/group_aggregates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "query/columns/elements.h"
#include "query/kernels/covariance.h"
#include "query/kernels/float_pairs.h"
#include "query/kernels/number_kernels.h"
#include "query/kernels/number_rules.h"
#include "query/kernels/type_rules.h"

namespace tickstack::query {
namespace {

// Each rule has a State, a Step that takes one item into it, a Fold that takes in many, and a
// Merge.

// Sums ints in 64 bits that wrap, and floats as floats; a null counts as 0.
template <typename T>
struct SumRule {
  using State = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  static constexpr State kFirst = 0;
  static void Step(State& sum, T item) {
    sum += IsNull(item) ? State{0} : static_cast<State>(item);
  }
  static void Fold(State& sum, std::span<const T> items) {
    Totals<T> totals;
    Kernels<T>().add(items.data(), items.size(), totals);
    for (const State lane : totals.sums) sum += lane;
  }
  static void Merge(State& sum, State later) { sum += later; }
};

struct MeanState {
  double sum = 0;
  int64_t count = 0;
};

template <typename T>
struct AvgRule {
  using State = MeanState;
  static constexpr State kFirst = {};
  static void Step(State& mean, T item) {
    const bool null = IsNull(item);
    mean.sum += null ? 0.0 : static_cast<double>(item);
    mean.count += null ? 0 : 1;
  }
  static void Fold(State& mean, std::span<const T> items) {
    Totals<T> totals;
    Kernels<T>().add_as_floats(items.data(), items.size(), totals);
    mean.count += static_cast<int64_t>(items.size());
    for (size_t lane = 0; lane < kLanes; ++lane) {
      mean.sum += totals.float_sums[lane];
      mean.count -= static_cast<int64_t>(totals.nulls[lane]);
    }
  }
  static void Merge(State& mean, State later) {
    mean.sum += later.sum;
    mean.count += later.count;
  }
};

template <typename T>
struct MaxRule {
  using State = T;
  static constexpr State kFirst = MinusInfinity<T>();
  static void Step(State& best, T item) { best = item > best ? item : best; }
  static void Fold(State& best, std::span<const T> items) {
    best = Kernels<T>().max(items.data(), items.size(), best);
  }
  static void Merge(State& best, State later) { Step(best, later); }
};

template <typename T>
struct MinRule {
  using State = T;
  static constexpr State kFirst = PlusInfinity<T>();
  static void Step(State& best, T item) {
    const T seen = IsNull(item) ? PlusInfinity<T>() : item;
    best = seen < best ? seen : best;
  }
  static void Fold(State& best, std::span<const T> items) {
    best = Kernels<T>().min(items.data(), items.size(), best);
  }
  static void Merge(State& best, State later) { Step(best, later); }
};

template <typename R, typename T, typename F>
Value FinishStates(Type type, const ScratchVector<T>& states, std::span<const uint32_t> order,
                   F result) {
  constexpr size_t kStatesAhead = 16;
  VectorWriter<R> out(type, order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i + kStatesAhead < order.size()) __builtin_prefetch(&states[order[i + kStatesAhead]]);
    out.data()[i] = result(states[order[i]]);
  }
  return std::move(out).Finish();
}

double OneNull(double value) { return value != value ? NullElement<double>(Type::kFloat) : value; }

template <typename State>
class States : public GroupAccumulator {
 public:
  States(State first, uint32_t slots) : states_(slots, first) {}

 protected:
  ScratchVector<State> states_;
};

// Aggregates one column.
template <typename T, template <typename> typename Rule>
class OfValues final : public States<typename Rule<T>::State> {
  using State = typename Rule<T>::State;
  using States<State>::states_;

 public:
  OfValues(Type result, uint32_t slots) : States<State>(Rule<T>::kFirst, slots), result_(result) {}

  absl::Status AddRows(size_t, std::span<const uint32_t> numbers, const AggregateInput& input,
                       const Budget& budget) override {
    const uint32_t* number = numbers.data();
    State* const states = states_.data();
    return ForEachBlock<T>(*input.values, budget, [&](const Block<T>& block) {
      for (const T item : block.elements) Rule<T>::Step(states[*number++], item);
    });
  }
  absl::Status AddGroup(uint32_t number, const AggregateInput& input,
                        const Budget& budget) override {
    State state = states_[number];
    TS_RETURN_IF_ERROR(ForEachBlock<T>(*input.values, budget, [&](const Block<T>& block) {
      Rule<T>::Fold(state, block.elements);
    }));
    states_[number] = state;
    return absl::OkStatus();
  }
  void Join(uint32_t number, uint32_t later) override {
    Rule<T>::Merge(states_[number], states_[later]);
  }
  void Merge(const GroupAccumulator& later) override {
    const auto& others = static_cast<const OfValues&>(later).states_;
    for (size_t i = 0; i < states_.size(); ++i) Rule<T>::Merge(states_[i], others[i]);
  }
  Value Finish(std::span<const uint32_t> order) const override {
    if constexpr (std::is_same_v<State, MeanState>) {
      return FinishStates<double>(result_, states_, order, [](const MeanState& mean) {
        return OneNull(mean.sum / static_cast<double>(mean.count));
      });
    } else if constexpr (std::is_floating_point_v<T> || std::is_same_v<State, T>) {
      return FinishStates<T>(result_, states_, order, [](State s) { return static_cast<T>(s); });
    } else if (WidthOf(result_) == 8) {
      return FinishStates<int64_t>(result_, states_, order,
                                   [](State sum) { return static_cast<int64_t>(sum); });
    } else {
      return FinishStates<int32_t>(result_, states_, order,
                                   [](State sum) { return static_cast<int32_t>(sum); });
    }
  }

 private:
  const Type result_;
};

// Weighted average and weighted sum. They leave out rows where either side is null.
struct WeightedState {
  double products = 0;
  double weights = 0;

  void Step(double weight, double value) {
    const bool null = IsNull(weight) | IsNull(value);
    products += null ? 0.0 : weight * value;
    weights += null ? 0.0 : weight;
  }
  void Merge(const WeightedState& later) {
    products += later.products;
    weights += later.weights;
  }
};

class Weighted final : public States<WeightedState> {
 public:
  Weighted(bool average, uint32_t slots) : States({}, slots), average_(average) {}

  absl::Status AddRows(size_t, std::span<const uint32_t> numbers, const AggregateInput& input,
                       const Budget& budget) override {
    return ForEachFloatPair(*input.weights, *input.values, 0, numbers.size(), budget,
                            [&](size_t row, double weight, double value) {
                              states_[numbers[row]].Step(weight, value);
                            });
  }
  absl::Status AddGroup(uint32_t number, const AggregateInput& input,
                        const Budget& budget) override {
    // Keeps several sums that do not wait for each other, as number_kernels.h does.
    constexpr size_t kSums = 4;
    std::array<WeightedState, kSums> sums{};
    TS_RETURN_IF_ERROR(ForEachFloatPair(
        *input.weights, *input.values, 0, input.values->count(), budget,
        [&](size_t i, double weight, double value) { sums[i % kSums].Step(weight, value); }));
    for (const WeightedState& sum : sums) states_[number].Merge(sum);
    return absl::OkStatus();
  }
  void Join(uint32_t number, uint32_t later) override { states_[number].Merge(states_[later]); }
  void Merge(const GroupAccumulator& later) override {
    const auto& others = static_cast<const Weighted&>(later).states_;
    for (size_t i = 0; i < states_.size(); ++i) states_[i].Merge(others[i]);
  }
  Value Finish(std::span<const uint32_t> order) const override {
    return FinishStates<double>(Type::kFloat, states_, order, [this](const WeightedState& state) {
      return average_ ? OneNull(state.products / state.weights) : state.products;
    });
  }

 private:
  const bool average_;
};

// The moments of variances, item by item after B. P. Welford (Technometrics 4, 1962); two of them
// merge after T. F. Chan, G. H. Golub and R. J. LeVeque (1979). Neither loses the digits that a sum
// of squares loses.
struct MomentState {
  double count = 0;
  double mean = 0;
  double squares = 0;  // Sum of squared differences to the mean.

  void Step(double item) {
    if (IsNull(item)) return;
    ++count;
    const double before = item - mean;
    mean += before / count;
    squares += before * (item - mean);
  }
  // Adds items in two passes, without a division for each.
  void AddBlock(std::span<const double> items) {
    MomentState block;
    double sum = 0;
    for (const double item : items) {
      const bool null = IsNull(item);
      sum += null ? 0.0 : item;
      block.count += null ? 0.0 : 1.0;
    }
    if (block.count == 0) return;
    block.mean = sum / block.count;
    for (const double item : items) {
      const double apart = IsNull(item) ? 0.0 : item - block.mean;
      block.squares += apart * apart;
    }
    Merge(block);
  }
  void Merge(const MomentState& later) {
    if (later.count == 0) return;
    const double both = count + later.count, apart = later.mean - mean;
    squares += later.squares + apart * apart * (count / both * later.count);
    mean += apart * (later.count / both);
    count = both;
  }
};

class MomentStates final : public States<MomentState> {
 public:
  MomentStates(AggregateKind kind, uint32_t slots) : States({}, slots), kind_(kind) {}

  absl::Status AddRows(size_t, std::span<const uint32_t> numbers, const AggregateInput& input,
                       const Budget& budget) override {
    return ForEachBlock(*input.values, budget, [&](size_t at, std::span<const double> items) {
      for (size_t i = 0; i < items.size(); ++i) states_[numbers[at + i]].Step(items[i]);
    });
  }
  absl::Status AddGroup(uint32_t number, const AggregateInput& input,
                        const Budget& budget) override {
    MomentState& group = states_[number];
    return ForEachBlock(*input.values, budget,
                        [&](size_t, std::span<const double> items) { group.AddBlock(items); });
  }
  void Join(uint32_t number, uint32_t later) override { states_[number].Merge(states_[later]); }
  void Merge(const GroupAccumulator& later) override {
    const auto& others = static_cast<const MomentStates&>(later).states_;
    for (size_t i = 0; i < states_.size(); ++i) states_[i].Merge(others[i]);
  }
  Value Finish(std::span<const uint32_t> order) const override {
    return FinishStates<double>(Type::kFloat, states_, order, [this](const MomentState& state) {
      const bool sample =
          kind_ == AggregateKind::kSampleVariance || kind_ == AggregateKind::kSampleDeviation;
      const bool root =
          kind_ == AggregateKind::kDeviation || kind_ == AggregateKind::kSampleDeviation;
      // A sample of one item has no deviation, nor has an empty one.
      const double items = sample ? state.count - 1 : state.count;
      if (items <= 0) return NullElement<double>(Type::kFloat);
      const double variance = state.squares / items;
      return OneNull(root ? std::sqrt(variance) : variance);
    });
  }

 private:
  template <typename F>
  static absl::Status ForEachBlock(const Slice& slice, const Budget& budget, F f) {
    constexpr size_t kBlock = 1024;
    std::array<double, kBlock> items;
    for (size_t at = 0; at < slice.count(); at += kBlock) {
      const auto block = std::span(items).first(std::min(kBlock, slice.count() - at));
      TS_RETURN_IF_ERROR(ReadFloats(slice, at, block, budget));
      f(at, block);
    }
    return absl::OkStatus();
  }

  const AggregateKind kind_;
};

// The joint moments of two columns, over the rows where neither is null.
struct JointState {
  JointMoments moments;
  double x_mean = 0, y_mean = 0;

  void Step(double x, double y) {
    if (IsNull(x) | IsNull(y)) return;
    const double share = 1 / ++moments.count;
    const double x_before = x - x_mean, y_before = y - y_mean;
    x_mean += x_before * share;
    y_mean += y_before * share;
    moments.products += x_before * (y - y_mean);
    moments.x_squares += x_before * (x - x_mean);
    moments.y_squares += y_before * (y - y_mean);
  }
  void AddBlock(std::span<const double> x, std::span<const double> y) {
    JointState block;
    double x_sum = 0, y_sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const bool null = IsNull(x[i]) | IsNull(y[i]);
      x_sum += null ? 0.0 : x[i];
      y_sum += null ? 0.0 : y[i];
      block.moments.count += null ? 0.0 : 1.0;
    }
    if (block.moments.count == 0) return;
    block.x_mean = x_sum / block.moments.count;
    block.y_mean = y_sum / block.moments.count;
    for (size_t i = 0; i < x.size(); ++i) {
      const bool null = IsNull(x[i]) | IsNull(y[i]);
      const double x_apart = null ? 0.0 : x[i] - block.x_mean;
      const double y_apart = null ? 0.0 : y[i] - block.y_mean;
      block.moments.products += x_apart * y_apart;
      block.moments.x_squares += x_apart * x_apart;
      block.moments.y_squares += y_apart * y_apart;
    }
    Merge(block);
  }
  void Merge(const JointState& later) {
    const JointMoments& other = later.moments;
    if (other.count == 0) return;
    const double both = moments.count + other.count;
    const double x_apart = later.x_mean - x_mean, y_apart = later.y_mean - y_mean;
    const double weight = moments.count / both * other.count, share = other.count / both;
    moments.products += other.products + x_apart * y_apart * weight;
    moments.x_squares += other.x_squares + x_apart * x_apart * weight;
    moments.y_squares += other.y_squares + y_apart * y_apart * weight;
    x_mean += x_apart * share;
    y_mean += y_apart * share;
    moments.count = both;
  }
};

class Joint final : public States<JointState> {
 public:
  Joint(AggregateKind kind, uint32_t slots) : States({}, slots), kind_(kind) {}

  absl::Status AddRows(size_t, std::span<const uint32_t> numbers, const AggregateInput& input,
                       const Budget& budget) override {
    return ForEachFloatPair(
        *input.weights, *input.values, 0, numbers.size(), budget,
        [&](size_t row, double x, double y) { states_[numbers[row]].Step(x, y); });
  }
  absl::Status AddGroup(uint32_t number, const AggregateInput& input,
                        const Budget& budget) override {
    JointState& group = states_[number];
    return ForEachFloatPairBlock(*input.weights, *input.values, 0, input.values->count(), budget,
                                 [&](size_t, std::span<const double> x, std::span<const double> y) {
                                   group.AddBlock(x, y);
                                 });
  }
  void Join(uint32_t number, uint32_t later) override { states_[number].Merge(states_[later]); }
  void Merge(const GroupAccumulator& later) override {
    const auto& others = static_cast<const Joint&>(later).states_;
    for (size_t i = 0; i < states_.size(); ++i) states_[i].Merge(others[i]);
  }
  Value Finish(std::span<const uint32_t> order) const override {
    return FinishStates<double>(Type::kFloat, states_, order, [this](const JointState& state) {
      // An infinity's difference to a mean that it is part of is not a number.
      if (!std::isfinite(state.x_mean) || !std::isfinite(state.y_mean)) {
        return NullElement<double>(Type::kFloat);
      }
      if (kind_ == AggregateKind::kCovariance) return OneNull(CovarianceOf(state.moments));
      if (kind_ == AggregateKind::kSampleCovariance) {
        return OneNull(SampleCovarianceOf(state.moments));
      }
      return OneNull(CorrelationOf(state.moments));
    });
  }

 private:
  const AggregateKind kind_;
};

// Counts rows, and finds the positions of the groups' ends.
class EndPositions final : public States<int64_t> {
 public:
  EndPositions(AggregateKind kind, uint32_t slots)
      : States(kind == AggregateKind::kCount ? 0 : -1, slots), kind_(kind) {}

  absl::Status AddRows(size_t position, std::span<const uint32_t> numbers, const AggregateInput&,
                       const Budget&) override {
    const auto n = static_cast<int64_t>(numbers.size()), at = static_cast<int64_t>(position);
    if (kind_ == AggregateKind::kCount) {
      for (uint32_t number : numbers) ++states_[number];
    } else if (kind_ == AggregateKind::kLast) {
      for (int64_t i = 0; i < n; ++i) states_[numbers[static_cast<size_t>(i)]] = at + i;
    } else {
      for (int64_t i = 0; i < n; ++i) {
        int64_t& first = states_[numbers[static_cast<size_t>(i)]];
        first = first < 0 ? at + i : first;
      }
    }
    return absl::OkStatus();
  }
  absl::Status AddGroup(uint32_t, const AggregateInput&, const Budget&) override {
    TS_CHECK(false);  // Never called, because callers with groups know their ends.
    return absl::OkStatus();
  }
  void Join(uint32_t, uint32_t) override { TS_CHECK(false); }  // Never called, see AddGroup.
  void Merge(const GroupAccumulator& later) override {
    const auto& others = static_cast<const EndPositions&>(later).states_;
    for (size_t i = 0; i < states_.size(); ++i) {
      if (kind_ == AggregateKind::kCount) {
        states_[i] += others[i];
      } else if (others[i] >= 0 && (kind_ == AggregateKind::kLast || states_[i] < 0)) {
        states_[i] = others[i];
      }
    }
  }
  Value Finish(std::span<const uint32_t> order) const override {
    return FinishStates<int64_t>(Type::kLong, states_, order, [](int64_t state) { return state; });
  }

 private:
  const AggregateKind kind_;
};

template <template <typename> typename Rule>
std::unique_ptr<GroupAccumulator> MakeOfValues(Type values, Type result, uint32_t slots) {
  return VisitElementType(
      values, [&]<typename T>(std::type_identity<T>) -> std::unique_ptr<GroupAccumulator> {
        if constexpr (std::is_same_v<T, Guid>) {
          return nullptr;
        } else {
          return std::make_unique<OfValues<T, Rule>>(result, slots);
        }
      });
}

}  // namespace

std::unique_ptr<GroupAccumulator> MakeAccumulator(AggregateKind kind, Type weights, Type values,
                                                  uint32_t slots) {
  switch (kind) {
    case AggregateKind::kCount:
    case AggregateKind::kFirst:
    case AggregateKind::kLast:
      return std::make_unique<EndPositions>(kind, slots);
    case AggregateKind::kWeightedAvg:
    case AggregateKind::kWeightedSum:
      if (!ReadsAsFloats(weights) || !ReadsAsFloats(values)) return nullptr;
      return std::make_unique<Weighted>(kind == AggregateKind::kWeightedAvg, slots);
    case AggregateKind::kVariance:
    case AggregateKind::kDeviation:
    case AggregateKind::kSampleVariance:
    case AggregateKind::kSampleDeviation:
      if (!ReadsAsFloats(values)) return nullptr;
      return std::make_unique<MomentStates>(kind, slots);
    case AggregateKind::kCovariance:
    case AggregateKind::kSampleCovariance:
    case AggregateKind::kCorrelation:
      if (!ReadsAsFloats(weights) || !ReadsAsFloats(values)) return nullptr;
      return std::make_unique<Joint>(kind, slots);
    case AggregateKind::kSum:
    case AggregateKind::kAvg:
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      break;
  }
  if (!IsFixedWidth(values) || values == Type::kGuid) return nullptr;
  const std::optional<Type> sum = SumType(values);
  switch (kind) {
    case AggregateKind::kSum:
      return sum.has_value() ? MakeOfValues<SumRule>(values, *sum, slots) : nullptr;
    case AggregateKind::kAvg:
      if (values == Type::kChar) return nullptr;
      return MakeOfValues<AvgRule>(values, Type::kFloat, slots);
    case AggregateKind::kMin:
      return MakeOfValues<MinRule>(values, values, slots);
    case AggregateKind::kCount:
    case AggregateKind::kFirst:
    case AggregateKind::kLast:
    case AggregateKind::kMax:
    case AggregateKind::kWeightedAvg:
    case AggregateKind::kWeightedSum:
    case AggregateKind::kVariance:
    case AggregateKind::kDeviation:
    case AggregateKind::kSampleVariance:
    case AggregateKind::kSampleDeviation:
    case AggregateKind::kCovariance:
    case AggregateKind::kSampleCovariance:
    case AggregateKind::kCorrelation:
      break;
  }
  return MakeOfValues<MaxRule>(values, values, slots);
}

}  // namespace tickstack::query
