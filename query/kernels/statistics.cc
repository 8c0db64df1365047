#include "query/kernels/statistics.h"

#include <algorithm>
#include <cmath>

#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/casts.h"
#include "query/kernels/domain_blocks.h"
#include "query/kernels/flip.h"
#include "query/kernels/type_rules.h"

namespace tickstack::query {
namespace {

// The moments of the items that are not null.
struct Moments {
  double count = 0;
  double squares = 0;  // Sum of squared differences to the mean.
};

absl::StatusOr<Moments> MomentsOf(std::string_view name, const Slice& slice, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckNumbers(name, slice));
  Moments moments;
  double sum = 0;
  TS_RETURN_IF_ERROR(ForEachDomainBlock<double>(slice, budget, [&](std::span<double> block) {
    for (double item : block) {
      if (std::isnan(item)) continue;
      sum += item;
      ++moments.count;
    }
  }));
  const double mean = sum / moments.count;
  TS_RETURN_IF_ERROR(ForEachDomainBlock<double>(slice, budget, [&](std::span<double> block) {
    for (double item : block) {
      if (!std::isnan(item)) moments.squares += (item - mean) * (item - mean);
    }
  }));
  return moments;
}

// Returns null for a sample of one item, which has no deviation; without items the formula would
// give -0.
double SampleVarianceOf(const Moments& moments) {
  return moments.count > 1 ? moments.squares / (moments.count - 1) : std::nan("");
}

using Statistic = absl::StatusOr<Value> (*)(const Slice&, Budget&);

// f of the items of a list at each place of theirs; of atoms alone f of them.
absl::StatusOr<Value> OfEachPlace(Statistic f, const Slice& list, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Value items, Materialise(list, budget));
  if (std::ranges::all_of(items.items(), &Value::is_atom)) {
    TS_ASSIGN_OR_RETURN(const Value floats,
                        CastColumn(list, CastTarget{Type::kFloat, std::nullopt}, budget));
    return f(Slice::Of(floats), budget);
  }
  TS_ASSIGN_OR_RETURN(const Value places, Flip(items, budget));
  TS_RETURN_IF_ERROR(budget.ChargeItems(places.count()));
  std::vector<Value> results;
  for (size_t i = 0; i < places.count(); ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    TS_ASSIGN_OR_RETURN(results.emplace_back(), f(Slice::Of(ItemAt(places, i)), budget));
  }
  return Collapse(std::move(results));
}

bool IsListOfItems(const Slice& slice) { return slice.type() == Type::kList && slice.count() > 0; }

}  // namespace

absl::Status CheckNumbers(std::string_view name, const Slice& slice) {
  if (slice.type() == Type::kList && slice.count() > 0) {
    return NyiError(fmt::format("{} of a list", name));
  }
  if (slice.type() == Type::kList || SumType(slice.type()).has_value()) return absl::OkStatus();
  return TypeError("{} of {}", name, NameOf(slice.type()));
}

Value FloatOrNull(double value) {
  return std::isnan(value) ? NullOf(Type::kFloat) : Value::Float(value);
}

absl::StatusOr<Value> Variance(const Slice& slice, Budget& budget) {
  if (IsListOfItems(slice)) return OfEachPlace(Variance, slice, budget);
  TS_ASSIGN_OR_RETURN(const Moments moments, MomentsOf("var", slice, budget));
  return FloatOrNull(moments.squares / moments.count);
}

absl::StatusOr<Value> Deviation(const Slice& slice, Budget& budget) {
  if (IsListOfItems(slice)) return OfEachPlace(Deviation, slice, budget);
  TS_ASSIGN_OR_RETURN(const Moments moments, MomentsOf("dev", slice, budget));
  return FloatOrNull(std::sqrt(moments.squares / moments.count));
}

absl::StatusOr<Value> SampleVariance(const Slice& slice, Budget& budget) {
  if (IsListOfItems(slice)) return OfEachPlace(SampleVariance, slice, budget);
  TS_ASSIGN_OR_RETURN(const Moments moments, MomentsOf("svar", slice, budget));
  return FloatOrNull(SampleVarianceOf(moments));
}

absl::StatusOr<Value> SampleDeviation(const Slice& slice, Budget& budget) {
  if (IsListOfItems(slice)) return OfEachPlace(SampleDeviation, slice, budget);
  TS_ASSIGN_OR_RETURN(const Moments moments, MomentsOf("sdev", slice, budget));
  return FloatOrNull(std::sqrt(SampleVarianceOf(moments)));
}

absl::StatusOr<Value> Median(const Slice& slice, Budget& budget) {
  if (IsListOfItems(slice)) return OfEachPlace(Median, slice, budget);
  TS_RETURN_IF_ERROR(CheckNumbers("med", slice));
  const size_t n = slice.count();
  if (n == 0) return NullOf(Type::kFloat);
  const Budget::Temporaries temporaries(budget);
  TS_RETURN_IF_ERROR(budget.Charge(n, sizeof(double)));
  ScratchVector<double> items;
  items.reserve(n);
  TS_RETURN_IF_ERROR(ForEachDomainBlock<double>(slice, budget, [&](std::span<double> block) {
    items.insert(items.end(), block.begin(), block.end());
  }));
  const auto nulls_first = [](double a, double b) {
    return std::isnan(a) ? !std::isnan(b) : a < b;
  };
  const auto upper = items.begin() + static_cast<ptrdiff_t>(n / 2);
  std::ranges::nth_element(items, upper, nulls_first);
  if (n % 2 == 1) return FloatOrNull(*upper);
  const double lower = *std::ranges::max_element(items.begin(), upper, nulls_first);
  // Averages the two, or takes the one that is not null.
  return FloatOrNull(std::isnan(lower) ? *upper : lower + (*upper - lower) / 2);
}

}  // namespace tickstack::query
