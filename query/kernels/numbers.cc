#include "query/kernels/numbers.h"

#include <cmath>
#include <span>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "query/columns/any_column.h"
#include "query/columns/errors.h"
#include "query/kernels/domain_blocks.h"
#include "query/kernels/type_rules.h"
#include "query/kernels/unary.h"

namespace tickstack::query {
namespace {

absl::Status CheckIsNumber(std::string_view name, Type type) {
  if (IsFixedWidth(type) && type != Type::kGuid) return absl::OkStatus();
  return TypeError("{} of {}", name, NameOf(type));
}

using VectorFunction = absl::FunctionRef<absl::StatusOr<Value>(const Value&)>;

// Calls MapSimple, so that it is compiled only once.
absl::StatusOr<Value> MapVectors(const Value& x, Budget& budget, VectorFunction f) {
  return MapSimple(x, budget, f);
}

absl::StatusOr<Value> MapFloats(std::string_view name, const Value& x, Budget& budget,
                                double (*f)(double)) {
  return MapVectors(x, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    TS_RETURN_IF_ERROR(CheckIsNumber(name, vector.type()));
    if (vector.is(Type::kDatetime)) return NyiError(fmt::format("{} of a datetime", name));
    return MapInDomain<double>(Slice::Of(vector), Type::kFloat, budget,
                               [&](std::span<double> block) {
                                 for (double& item : block) item = f(item);
                               });
  });
}

// Rounds floats to longs by f and leaves integers as they are; booleans, bytes and chars become
// `narrow`.
absl::StatusOr<Value> MapRounded(std::string_view name, const Value& vector, Budget& budget,
                                 double (*f)(double)) {
  const Type type = vector.type();
  TS_RETURN_IF_ERROR(CheckIsNumber(name, type));
  if (IsTemporal(type)) return TypeError("{} of {}", name, NameOf(type));
  if (!IsFloating(type)) return vector;
  return MapInDomain<double>(Slice::Of(vector), Type::kLong, budget, [&](std::span<double> block) {
    for (double& item : block) item = f(item);
  });
}

// Returns the whole number that a float equals within the tolerance of comparisons, else
// `otherwise`.
double WholeOr(double item, double otherwise) {
  const double nearest = std::nearbyint(item);
  return std::abs(item - nearest) <= 0x1p-43 * std::abs(item) ? nearest : otherwise;
}

}  // namespace

absl::StatusOr<Value> Floor(const Value& x, Budget& budget) {
  return MapVectors(x, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    const Type type = vector.type();
    if (type == Type::kChar || type == Type::kSymbol) return NyiError("floor of text");
    if (WidthOf(type) == 1) return TypeError("floor of {}", NameOf(type));
    return MapRounded("floor", vector, budget,
                      [](double item) { return WholeOr(item, std::floor(item)); });
  });
}

absl::StatusOr<Value> Ceiling(const Value& x, Budget& budget) {
  return MapVectors(x, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    if (WidthOf(vector.type()) == 1) {
      return MapInDomain<int64_t>(Slice::Of(vector), Type::kInt, budget, [](std::span<int64_t>) {});
    }
    return MapRounded("ceiling", vector, budget,
                      [](double item) { return WholeOr(item, std::ceil(item)); });
  });
}

absl::StatusOr<Value> Signum(const Value& x, Budget& budget) {
  return MapVectors(x, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    TS_RETURN_IF_ERROR(CheckIsNumber("signum", vector.type()));
    return MapInDomain<double>(Slice::Of(vector), Type::kInt, budget, [](std::span<double> block) {
      // A null counts as negative.
      for (double& item : block) item = item > 0 ? 1 : item == 0 ? 0 : -1;
    });
  });
}

absl::StatusOr<Value> SquareRoot(const Value& x, Budget& budget) {
  return MapFloats("sqrt", x, budget, [](double item) { return std::sqrt(item); });
}

absl::StatusOr<Value> Exponential(const Value& x, Budget& budget) {
  return MapFloats("exp", x, budget, [](double item) { return std::exp(item); });
}

absl::StatusOr<Value> NaturalLogarithm(const Value& x, Budget& budget) {
  return MapFloats("log", x, budget, [](double item) { return std::log(item); });
}

absl::StatusOr<Value> Reciprocal(const Value& x, Budget& budget) {
  return MapFloats("reciprocal", x, budget, [](double item) { return 1 / item; });
}

absl::StatusOr<Value> Sine(const Value& x, Budget& budget) {
  return MapFloats("sin", x, budget, [](double item) { return std::sin(item); });
}

absl::StatusOr<Value> Cosine(const Value& x, Budget& budget) {
  return MapFloats("cos", x, budget, [](double item) { return std::cos(item); });
}

absl::StatusOr<Value> Tangent(const Value& x, Budget& budget) {
  return MapFloats("tan", x, budget, [](double item) { return std::tan(item); });
}

absl::StatusOr<Value> ArcSine(const Value& x, Budget& budget) {
  return MapFloats("asin", x, budget, [](double item) { return std::asin(item); });
}

absl::StatusOr<Value> ArcCosine(const Value& x, Budget& budget) {
  return MapFloats("acos", x, budget, [](double item) { return std::acos(item); });
}

absl::StatusOr<Value> ArcTangent(const Value& x, Budget& budget) {
  return MapFloats("atan", x, budget, [](double item) { return std::atan(item); });
}

}  // namespace tickstack::query
