#include "query/budget.h"

#include "query/errors.h"

namespace tickstack::query {

absl::Status Budget::Charge(size_t bytes) {
  if (bytes > limits_.max_result_bytes - charged_bytes_) {
    return LimitError("{} more bytes after {}, at most {} for a query", bytes, charged_bytes_,
                      limits_.max_result_bytes);
  }
  charged_bytes_ += bytes;
  return absl::OkStatus();
}

absl::Status Budget::Charge(size_t count, size_t width) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, width, &bytes)) {
    return LimitError("{} elements of {} bytes", count, width);
  }
  return Charge(bytes);
}

absl::Status Budget::CheckTime() const {
  if (limits_.cancelled != nullptr && limits_.cancelled->load(std::memory_order_relaxed)) {
    return StopError("the query was cancelled");
  }
  if (limits_.deadline != std::chrono::steady_clock::time_point::max() &&
      std::chrono::steady_clock::now() >= limits_.deadline) {
    return StopError("the query's time is over");
  }
  return absl::OkStatus();
}

}  // namespace tickstack::query
