#include "query/kernels/where.h"

#include <algorithm>
#include <span>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/domain_blocks.h"

namespace tickstack::query {

absl::StatusOr<Value> PositionsWhere(const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  if (type == Type::kList && slice.count() == 0) return EmptyVector(Type::kLong);
  const bool counts = type == Type::kBoolean || type == Type::kByte || type == Type::kShort ||
                      type == Type::kInt || type == Type::kLong;
  if (!counts) return TypeError("where of {}s", NameOf(type));
  size_t total = 0;
  bool too_many = false;
  TS_RETURN_IF_ERROR(ForEachDomainBlock<int64_t>(slice, budget, [&](std::span<int64_t> block) {
    for (const int64_t times : block) {
      if (times > 0) {
        too_many |= __builtin_add_overflow(total, static_cast<size_t>(times), &total);
      }
    }
  }));
  if (too_many) return LimitError("where of numbers whose sum is no long");
  TS_RETURN_IF_ERROR(budget.Charge(total, sizeof(int64_t)));
  VectorWriter<int64_t> out(Type::kLong, total);
  int64_t* to = out.data();
  int64_t position = 0;
  TS_RETURN_IF_ERROR(ForEachDomainBlock<int64_t>(slice, budget, [&](std::span<int64_t> block) {
    for (const int64_t times : block) {
      if (times > 0) to = std::fill_n(to, times, position);
      ++position;
    }
  }));
  return std::move(out).Finish();
}

}  // namespace tickstack::query
