#include "query/kernels/matrix.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/scratch.h"
#include "base/status.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"

namespace tickstack::query {
namespace {

// Row by row.
class Matrix {
 public:
  static absl::StatusOr<Matrix> Make(size_t rows, size_t columns, Budget& budget) {
    TS_RETURN_IF_ERROR(budget.Charge(rows * columns, sizeof(double)));
    return Matrix(rows, columns);
  }
  // A vector is one row.
  static absl::StatusOr<Matrix> Of(std::string_view name, const Value& value, Budget& budget) {
    if (!IsFloatMatrix(value)) return TypeError("{} of a {}", name, NameOf(value.type()));
    const bool vector = value.is_vector();
    const size_t rows = vector ? 1 : value.count();
    const size_t columns = vector ? value.count() : value.items()[0].count();
    TS_ASSIGN_OR_RETURN(Matrix matrix, Make(rows, columns, budget));
    for (size_t i = 0; i < rows; ++i) {
      const std::span<const double> row =
          vector ? value.span<double>() : value.items()[i].span<double>();
      if (row.size() != columns) return LengthError("rows of {} and {}", columns, row.size());
      std::ranges::copy(row, matrix.Row(i).begin());
    }
    return matrix;
  }

  size_t rows() const { return rows_; }
  size_t columns() const { return columns_; }
  std::span<double> Row(size_t i) { return std::span(items_).subspan(i * columns_, columns_); }
  std::span<const double> Row(size_t i) const {
    return std::span(items_).subspan(i * columns_, columns_);
  }
  double& At(size_t i, size_t j) { return items_[i * columns_ + j]; }
  double At(size_t i, size_t j) const { return items_[i * columns_ + j]; }

  absl::StatusOr<Value> ToValue(Budget& budget) const {
    TS_RETURN_IF_ERROR(budget.ChargeItems(rows_));
    TS_RETURN_IF_ERROR(budget.Charge(rows_ * columns_, sizeof(double)));
    std::vector<Value> rows;
    for (size_t i = 0; i < rows_; ++i) rows.push_back(Value::Vector(Type::kFloat, Row(i)));
    return Value::List(std::move(rows));
  }

 private:
  Matrix(size_t rows, size_t columns)
      : rows_(rows), columns_(columns), items_(rows * columns, 0.0) {}

  size_t rows_, columns_;
  ScratchVector<double> items_;
};

absl::StatusOr<Matrix> Multiply(const Matrix& x, const Matrix& y, Budget& budget) {
  if (x.columns() != y.rows()) {
    return LengthError("rows of {} by {} rows", x.columns(), y.rows());
  }
  TS_ASSIGN_OR_RETURN(Matrix product, Matrix::Make(x.rows(), y.columns(), budget));
  for (size_t i = 0; i < x.rows(); ++i) {
    const std::span<double> to = product.Row(i);
    for (size_t k = 0; k < y.rows(); ++k) {
      if (k % 64 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
      const double factor = x.At(i, k);
      const std::span<const double> from = y.Row(k);
      for (size_t j = 0; j < to.size(); ++j) to[j] += factor * from[j];
    }
  }
  return product;
}

absl::StatusOr<Matrix> Transposed(const Matrix& x, Budget& budget) {
  TS_ASSIGN_OR_RETURN(Matrix flipped, Matrix::Make(x.columns(), x.rows(), budget));
  for (size_t i = 0; i < x.rows(); ++i) {
    for (size_t j = 0; j < x.columns(); ++j) flipped.At(j, i) = x.At(i, j);
  }
  return flipped;
}

absl::Status DependentRows() { return DomainError("a matrix of linearly dependent rows"); }

// The x of `a x = b`, in the place of b, by LU decomposition in the place of a.
absl::Status SolveByElimination(Matrix& a, Matrix& b, Budget& budget) {
  const size_t n = a.rows();
  for (size_t k = 0; k < n; ++k) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::abs(a.At(i, k)) > std::abs(a.At(pivot, k))) pivot = i;
    }
    if (!(std::abs(a.At(pivot, k)) > 0)) return DependentRows();
    if (pivot != k) {
      std::ranges::swap_ranges(a.Row(k), a.Row(pivot));
      std::ranges::swap_ranges(b.Row(k), b.Row(pivot));
    }
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = a.At(i, k) / a.At(k, k);
      if (factor == 0) continue;
      for (size_t j = k; j < n; ++j) a.At(i, j) -= factor * a.At(k, j);
      for (size_t j = 0; j < b.columns(); ++j) b.At(i, j) -= factor * b.At(k, j);
    }
  }
  for (size_t k = n; k-- > 0;) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    for (size_t j = 0; j < b.columns(); ++j) {
      double sum = b.At(k, j);
      for (size_t i = k + 1; i < n; ++i) sum -= a.At(k, i) * b.At(i, j);
      b.At(k, j) = sum / a.At(k, k);
    }
  }
  return absl::OkStatus();
}

// The same for a symmetric matrix that is positive definite, by Cholesky decomposition.
absl::Status SolveSymmetric(Matrix& a, Matrix& b, Budget& budget) {
  const size_t n = a.rows();
  for (size_t k = 0; k < n; ++k) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    for (size_t i = k; i < n; ++i) {
      double sum = a.At(i, k);
      for (size_t j = 0; j < k; ++j) sum -= a.At(i, j) * a.At(k, j);
      if (i == k && !(sum > 0)) return DependentRows();
      a.At(i, k) = i == k ? std::sqrt(sum) : sum / a.At(k, k);
    }
  }
  for (size_t j = 0; j < b.columns(); ++j) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    for (size_t k = 0; k < n; ++k) {
      double sum = b.At(k, j);
      for (size_t i = 0; i < k; ++i) sum -= a.At(k, i) * b.At(i, j);
      b.At(k, j) = sum / a.At(k, k);
    }
    for (size_t k = n; k-- > 0;) {
      double sum = b.At(k, j);
      for (size_t i = k + 1; i < n; ++i) sum -= a.At(i, k) * b.At(i, j);
      b.At(k, j) = sum / a.At(k, k);
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsFloatMatrix(const Value& value) {
  if (value.is_vector()) return value.is(Type::kFloat);
  return value.is_list() && value.count() > 0 &&
         std::ranges::all_of(value.items(), [](const Value& row) { return row.is(Type::kFloat); });
}

absl::StatusOr<Value> MatrixProduct(const Value& x, const Value& y, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Matrix left, Matrix::Of("mmu", x, budget));
  TS_ASSIGN_OR_RETURN(Matrix right, Matrix::Of("mmu", y, budget));
  if (y.is_vector()) {  // A column.
    TS_ASSIGN_OR_RETURN(right, Transposed(right, budget));
  }
  TS_ASSIGN_OR_RETURN(const Matrix product, Multiply(left, right, budget));
  if (!y.is_vector()) {
    if (x.is_vector()) return Value::Vector(Type::kFloat, product.Row(0));
    return product.ToValue(budget);
  }
  if (x.is_vector()) return Value::Float(product.At(0, 0));
  VectorWriter<double> column(Type::kFloat, product.rows());
  for (size_t i = 0; i < product.rows(); ++i) column.data()[i] = product.At(i, 0);
  return std::move(column).Finish();
}

absl::StatusOr<Value> MatrixInverse(const Value& x, Budget& budget) {
  if (!x.is_list()) return TypeError("inv of a {}", NameOf(x.type()));
  TS_ASSIGN_OR_RETURN(Matrix a, Matrix::Of("inv", x, budget));
  if (a.rows() != a.columns()) {
    return LengthError("inv of {} rows of {}", a.rows(), a.columns());
  }
  TS_ASSIGN_OR_RETURN(Matrix inverse, Matrix::Make(a.rows(), a.rows(), budget));
  for (size_t i = 0; i < a.rows(); ++i) inverse.At(i, i) = 1;
  TS_RETURN_IF_ERROR(SolveByElimination(a, inverse, budget));
  return inverse.ToValue(budget);
}

// With both sides transposed, w y = x is y' w' = x'.
absl::StatusOr<Value> LeastSquares(const Value& x, const Value& y, Budget& budget) {
  if (!x.is_list() || !y.is_list()) return TypeError("lsq of what is no matrix");
  TS_ASSIGN_OR_RETURN(const Matrix left, Matrix::Of("lsq", x, budget));
  TS_ASSIGN_OR_RETURN(const Matrix right, Matrix::Of("lsq", y, budget));
  if (left.columns() != right.columns() || right.rows() > right.columns()) {
    return LengthError("lsq of rows of {} by {} rows of {}", left.columns(), right.rows(),
                       right.columns());
  }
  TS_ASSIGN_OR_RETURN(Matrix flipped, Transposed(right, budget));
  if (right.rows() == right.columns()) {
    TS_ASSIGN_OR_RETURN(Matrix solution, Transposed(left, budget));
    TS_RETURN_IF_ERROR(SolveByElimination(flipped, solution, budget));
    TS_ASSIGN_OR_RETURN(const Matrix result, Transposed(solution, budget));
    return result.ToValue(budget);
  }
  TS_ASSIGN_OR_RETURN(Matrix squares, Multiply(right, flipped, budget));
  TS_ASSIGN_OR_RETURN(const Matrix flipped_left, Transposed(left, budget));
  TS_ASSIGN_OR_RETURN(Matrix solution, Multiply(right, flipped_left, budget));
  TS_RETURN_IF_ERROR(SolveSymmetric(squares, solution, budget));
  TS_ASSIGN_OR_RETURN(const Matrix result, Transposed(solution, budget));
  return result.ToValue(budget);
}

}  // namespace tickstack::query
