#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "query/query.h"

namespace tickstack::query {

// What one evaluation may still use. Whoever is about to build a value charges its bytes first, and
// whoever scans a column asks between chunks whether to go on. Charges are never given back: an
// evaluation's temporaries count like its result, so that no expression can hold more than the
// limit. One evaluation, one thread.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // `limit` if `bytes` more than all that was charged so far would pass the bound.
  absl::Status Charge(size_t bytes);
  // `limit` as well if count * width does not fit.
  absl::Status Charge(size_t count, size_t width);

  // `stop` when the deadline is over or the request was cancelled.
  absl::Status CheckTime() const;

  int max_depth() const { return limits_.max_depth; }

 private:
  const Limits& limits_;
  size_t charged_bytes_ = 0;
};

}  // namespace tickstack::query
