#include "query/remote/part_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/status.h"
#include "query/columns/concatenate.h"
#include "query/columns/errors.h"
#include "query/language/term.h"

namespace tickstack::query {
namespace {

absl::StatusOr<Value> ItemsAt(Context& context, const Value& items, const Value& positions) {
  Term args[] = {items, positions};
  TS_ASSIGN_OR_RETURN(Term term, Apply(context, *FindBuiltin("@"), args));
  return ToValue(std::move(term), context.budget);
}

}  // namespace

absl::Status PartRows::Add(const std::string& table, std::vector<Value> columns, Budget& budget) {
  if (columns_.empty()) {
    columns_ = std::move(columns);
    return absl::OkStatus();
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].type() != columns_[i].type()) {
      return QError(absl::StatusCode::kFailedPrecondition, "schema",
                    fmt::format("a column of {} is {} in one process and {} in another", table,
                                NameOf(columns[i].type()), NameOf(columns_[i].type())));
    }
    TS_ASSIGN_OR_RETURN(columns_[i], Join(columns_[i], columns[i], budget));
  }
  return absl::OkStatus();
}
absl::StatusOr<std::optional<Value>> OrderOfRows(Context& context,
                                                 const std::vector<Value>& columns,
                                                 std::vector<size_t> keys) {
  std::optional<Value> order;  // By the keys so far.
  for (; !keys.empty(); keys.pop_back()) {
    Value key = columns[keys.back()];
    if (order) {
      TS_ASSIGN_OR_RETURN(key, ItemsAt(context, key, *order));
    }
    Term arg = std::move(key);
    TS_ASSIGN_OR_RETURN(Term term, Apply(context, *FindBuiltin("iasc"), std::span(&arg, 1)));
    TS_ASSIGN_OR_RETURN(Value next, ToValue(std::move(term), context.budget));
    if (order) {
      TS_ASSIGN_OR_RETURN(next, ItemsAt(context, *order, next));
    }
    order = std::move(next);
  }
  if (order && std::ranges::is_sorted(order->span<int64_t>())) order.reset();
  return order;
}

absl::Status SortRows(Context& context, std::vector<Value>& columns, std::vector<size_t> keys) {
  TS_ASSIGN_OR_RETURN(const std::optional<Value> order,
                      OrderOfRows(context, columns, std::move(keys)));
  for (size_t i = 0; order && i < columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(columns[i], ItemsAt(context, columns[i], *order));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> HasTies(Context& context, const std::vector<Value>& columns,
                             const std::vector<size_t>& keys) {
  const auto part = columns.back().span<int64_t>();
  std::vector<uint8_t> differs(part.size(), 0);
  for (const size_t key : keys) {
    Term arg = columns[key];
    TS_ASSIGN_OR_RETURN(Term term, Apply(context, *FindBuiltin("differ"), std::span(&arg, 1)));
    TS_ASSIGN_OR_RETURN(const Value of_key, ToValue(std::move(term), context.budget));
    const auto flags = of_key.span<uint8_t>();
    for (size_t i = 0; i < differs.size(); ++i) differs[i] |= flags[i];
  }
  for (size_t i = 1; i < differs.size(); ++i) {
    if (differs[i] == 0 && part[i] != part[i - 1]) return true;
  }
  return false;
}

}  // namespace tickstack::query
