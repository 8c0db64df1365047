#include "query/kernels/temporal.h"

namespace tickstack::query {

int64_t NsOfMonth(int64_t month) {
  if (month < -200 * 12 || month > 200 * 12) return month < 0 ? -kInfinityLong : kInfinityLong;
  const int64_t year = FloorDivide(month, 12);
  const int64_t day =
      DaysFromCivil(static_cast<int>(2000 + year), static_cast<int>(month - year * 12 + 1), 1);
  return day * kNsPerDay;
}

}  // namespace tickstack::query
