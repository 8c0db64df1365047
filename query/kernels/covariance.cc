#include "query/kernels/covariance.h"

#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "base/scratch.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/domain_blocks.h"
#include "query/kernels/statistics.h"

namespace tickstack::query {
namespace {

absl::StatusOr<ScratchVector<double>> FloatsOf(std::string_view name, const Slice& slice,
                                               Budget& budget) {
  TS_RETURN_IF_ERROR(CheckNumbers(name, slice));
  TS_RETURN_IF_ERROR(budget.Charge(slice.count(), sizeof(double)));
  ScratchVector<double> floats;
  floats.reserve(slice.count());
  TS_RETURN_IF_ERROR(ForEachDomainBlock<double>(slice, budget, [&](std::span<double> block) {
    floats.insert(floats.end(), block.begin(), block.end());
  }));
  return floats;
}

absl::StatusOr<JointMoments> JointMomentsOf(std::string_view name, const Slice& x_slice,
                                            const Slice& y_slice, Budget& budget) {
  const Budget::Temporaries temporaries(budget);
  TS_ASSIGN_OR_RETURN(const ScratchVector<double> y, FloatsOf(name, y_slice, budget));
  TS_ASSIGN_OR_RETURN(const ScratchVector<double> x, FloatsOf(name, x_slice, budget));
  if (x.size() != y.size()) return LengthError("{} items and {} items", x.size(), y.size());
  JointMoments moments;
  double x_mean = 0, y_mean = 0;
  const auto each_pair = [&](auto f) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isnan(x[i]) && !std::isnan(y[i])) f(x[i], y[i]);
    }
  };
  each_pair([&](double a, double b) {
    ++moments.count;
    x_mean += a;
    y_mean += b;
  });
  x_mean /= moments.count;
  y_mean /= moments.count;
  TS_RETURN_IF_ERROR(budget.CheckTime());
  each_pair([&](double a, double b) {
    moments.products += (a - x_mean) * (b - y_mean);
    moments.x_squares += (a - x_mean) * (a - x_mean);
    moments.y_squares += (b - y_mean) * (b - y_mean);
  });
  return moments;
}

}  // namespace

double CovarianceOf(const JointMoments& moments) { return moments.products / moments.count; }

double SampleCovarianceOf(const JointMoments& moments) {
  if (moments.count <= 1) return std::numeric_limits<double>::quiet_NaN();
  return moments.products / (moments.count - 1);
}

double CorrelationOf(const JointMoments& moments) {
  // Takes one root if the product of the squares is finite, because that makes a perfect
  // correlation exactly 1.
  const double product = moments.x_squares * moments.y_squares;
  const double scale = std::isnormal(product)
                           ? std::sqrt(product)
                           : std::sqrt(moments.x_squares) * std::sqrt(moments.y_squares);
  return std::isinf(scale) ? std::numeric_limits<double>::quiet_NaN() : moments.products / scale;
}

absl::StatusOr<Value> Covariance(const Slice& x, const Slice& y, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const JointMoments moments, JointMomentsOf("cov", x, y, budget));
  return FloatOrNull(CovarianceOf(moments));
}

absl::StatusOr<Value> SampleCovariance(const Slice& x, const Slice& y, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const JointMoments moments, JointMomentsOf("scov", x, y, budget));
  return FloatOrNull(SampleCovarianceOf(moments));
}

absl::StatusOr<Value> Correlation(const Slice& x, const Slice& y, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const JointMoments moments, JointMomentsOf("cor", x, y, budget));
  return FloatOrNull(CorrelationOf(moments));
}

}  // namespace tickstack::query
