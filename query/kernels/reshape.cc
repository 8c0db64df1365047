#include "query/kernels/reshape.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"

namespace tickstack::query {
namespace {

absl::Status ChargeItemsOf(const Value& y, size_t count, Budget& budget) {
  return y.is_list() ? budget.ChargeItems(count)
                     : budget.Charge(count, sizeof(uint32_t) + sizeof(Guid));
}

absl::StatusOr<Value> RowsOf(const Value& table, std::span<const uint32_t> positions,
                             Budget& budget) {
  std::vector<Value> columns;
  for (const Value& column : table.columns()) {
    TS_RETURN_IF_ERROR(ChargeItemsOf(column, positions.size(), budget));
    columns.push_back(TakeItems(column, positions));
  }
  return Value::Table(table.column_names(), std::move(columns));
}

// Returns items [begin, end) of y, which repeats after its last item.
absl::StatusOr<Value> ItemsFrom(const Value& y, size_t begin, size_t end, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.CheckTime());
  TS_RETURN_IF_ERROR(ChargeItemsOf(y, end - begin, budget));
  ScratchVector<uint32_t> positions;
  positions.reserve(end - begin);
  for (size_t at = begin; at < end; ++at) {
    positions.push_back(y.count() == 0 ? kNoItem : static_cast<uint32_t>(at % y.count()));
  }
  if (y.is_table()) return RowsOf(y, positions, budget);
  Value items = TakeItems(y, positions);
  return items.is_list() ? Collapse(std::move(items.mutable_items())) : items;
}

// Returns rows whose bounds are `bound(0)`, `bound(1)`, ...
template <typename F>
absl::StatusOr<Value> Rows(const Value& y, size_t rows, F bound, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.ChargeItems(rows));
  std::vector<Value> items;
  for (size_t row = 0; row < rows; ++row) {
    TS_ASSIGN_OR_RETURN(items.emplace_back(), ItemsFrom(y, bound(row), bound(row + 1), budget));
  }
  return Value::List(std::move(items));
}

// Returns y in this shape; `at` is the number of the next item.
absl::StatusOr<Value> Shaped(std::span<const int64_t> sizes, const Value& y, size_t& at,
                             Budget& budget) {
  const auto size = static_cast<size_t>(sizes[0]);
  if (sizes.size() == 1) {
    const size_t begin = std::exchange(at, at + size);
    return ItemsFrom(y, begin, at, budget);
  }
  TS_RETURN_IF_ERROR(budget.ChargeItems(size));
  std::vector<Value> items;
  for (size_t i = 0; i < size; ++i) {
    TS_ASSIGN_OR_RETURN(items.emplace_back(), Shaped(sizes.subspan(1), y, at, budget));
  }
  return Value::List(std::move(items));
}

}  // namespace

absl::StatusOr<Value> Reshape(std::span<const int64_t> sizes, const Value& y, Budget& budget) {
  if (sizes.empty()) return DomainError("no sizes");
  if (sizes.size() > static_cast<size_t>(kMaxListDepth)) {
    return StackError("{} sizes, at most {}", sizes.size(), kMaxListDepth);
  }
  const size_t nulls = static_cast<size_t>(std::ranges::count(sizes, kNullLong));
  if (nulls > 1 || (nulls == 1 && sizes.size() != 2)) return DomainError("null sizes");
  size_t total = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == kNullLong) continue;
    if (sizes[i] < 0) return DomainError("a size of {}", sizes[i]);
    if (sizes[i] == 0 && sizes.size() > 2 && i + 1 < sizes.size()) {
      return DomainError("a size of 0 before another one");
    }
    if (__builtin_mul_overflow(total, static_cast<size_t>(sizes[i]), &total) || total >= kNoItem) {
      return LimitError("more than {} items", kNoItem - 1);
    }
  }
  const size_t n = y.count();
  if (n >= kNoItem) return LimitError("{} items, at most {}", n, kNoItem - 1);
  if (nulls == 0) {
    size_t at = 0;
    return Shaped(sizes, y, at, budget);
  }
  if (sizes[0] == kNullLong) {
    const auto width = static_cast<size_t>(sizes[1]);
    if (width == 0) return DomainError("rows of 0 items");
    return Rows(
        y, (n + width - 1) / width, [&](size_t row) { return std::min(row * width, n); }, budget);
  }
  const auto rows = static_cast<size_t>(sizes[0]);
  return Rows(y, rows, [&](size_t row) { return row * n / rows; }, budget);
}

}  // namespace tickstack::query
