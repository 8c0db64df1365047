#include "query/kernels/group_items.h"

#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/gather.h"
#include "query/kernels/key_table.h"
#include "query/kernels/keys.h"
#include "query/kernels/sort.h"
#include "query/kernels/sort_keys.h"

namespace tickstack::query {

absl::StatusOr<NumberedItems> NumberItems(const Slice& slice, Budget& budget) {
  NumberedItems items;
  if (slice.type() == Type::kList) {
    TS_ASSIGN_OR_RETURN(const ScratchVector<uint64_t> places, SortKeys(slice, budget));
    TS_RETURN_IF_ERROR(budget.Charge(places.size(), 4 * sizeof(uint64_t)));
    KeyTable<uint64_t> table;
    items.numbers.reserve(places.size());
    for (const uint64_t place : places) items.numbers.push_back(table.NumberOf(place));
  } else {
    KeyNumbers table(1);
    TS_ASSIGN_OR_RETURN(items.numbers, table.Number(std::span(&slice, 1), budget));
  }
  TS_RETURN_IF_ERROR(budget.Charge(items.numbers.size(), sizeof(uint32_t)));
  for (uint32_t i = 0; i < items.numbers.size(); ++i) {
    if (items.numbers[i] == items.firsts.size()) items.firsts.push_back(i);
  }
  return items;
}

absl::StatusOr<Value> GroupItems(const Slice& slice, Budget& budget) {
  TS_ASSIGN_OR_RETURN(NumberedItems items, NumberItems(slice, budget));
  const auto groups = static_cast<uint32_t>(items.firsts.size());
  TS_RETURN_IF_ERROR(budget.Charge(items.numbers.size(), sizeof(uint32_t)));
  TS_RETURN_IF_ERROR(budget.ChargeItems(groups));
  const Grouping grouping(items.numbers, groups);
  std::vector<Value> positions;
  positions.reserve(groups);
  for (uint32_t group = 0; group < groups; ++group) {
    if (group % 1024 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    const std::span<const uint32_t> of_group = grouping.PositionsOf(group);
    TS_RETURN_IF_ERROR(budget.Charge(of_group.size(), sizeof(int64_t)));
    VectorWriter<int64_t> out(Type::kLong, of_group.size());
    std::ranges::copy(of_group, out.data());
    positions.push_back(std::move(out).Finish());
  }
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> rows,
                      RowsAt(*slice.rows, std::move(items.firsts), budget));
  TS_ASSIGN_OR_RETURN(Value keys, GatherRows(slice.column, rows, budget));
  if (keys.is_list()) keys = Collapse(std::move(keys.mutable_items()));
  return Value::Dict(std::move(keys), Value::List(std::move(positions)));
}

}  // namespace tickstack::query
