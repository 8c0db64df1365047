#include "query/remote/chosen_days.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "query/columns/table_view.h"
#include "query/kernels/filter.h"
#include "query/language/evaluator.h"
#include "query/remote/sendable.h"

namespace tickstack::query {

using Side = RemoteTable::Side;

absl::StatusOr<ChosenDays> ChooseDays(Context& context, const Query& query,
                                      const RemoteTable& table,
                                      const std::vector<std::string>& names) {
  std::vector<int32_t> all;
  const std::span<const int32_t> past = table.Days(Side::kPast), last = table.Days(Side::kLast);
  std::ranges::set_union(past, last, std::back_inserter(all));
  ChosenDays chosen;
  const TableView days = ViewOf({std::string(kDateColumn)},
                                {Value::Vector(Type::kDate, std::span<const int32_t>(all))});
  auto kept = std::make_shared<const RowSet>(RowSet::Range(0, all.size()));
  for (const NodePtr& condition : query.conditions) {
    const ColumnNames named = NamesIn(*condition, names);
    if (!named.are_columns_only() ||
        named.columns != std::vector<std::string>{std::string(kDateColumn)}) {
      break;
    }
    const Scope scope{&days, kept};
    Context inner = context.Inside(scope);
    TS_ASSIGN_OR_RETURN(const Value flags, EvaluateToValue(inner, *condition));
    TS_ASSIGN_OR_RETURN(RowSet passed, Keep(*kept, flags));
    kept = std::make_shared<const RowSet>(std::move(passed));
    ++chosen.conditions;
  }
  for (const uint32_t row : kept->ToVector()) chosen.days.push_back(all[row]);
  return chosen;
}

}  // namespace tickstack::query
