#include "query/budget.h"

#include "query/errors.h"

namespace tickstack::query {

absl::Status Budget::Charge(size_t bytes) {
  if (bytes > limits_.max_result_bytes - charged_.bytes) {
    return LimitError("{} more bytes after {}, at most {} for a query{}", bytes, charged_.bytes,
                      limits_.max_result_bytes, ScratchNote());
  }
  if (bytes < kLargeBlockBytes) TS_RETURN_IF_ERROR(ChargeDram(bytes));
  charged_.bytes += bytes;
  return absl::OkStatus();
}

absl::Status Budget::Charge(size_t count, size_t width) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, width, &bytes)) {
    return LimitError("{} elements of {} bytes", count, width);
  }
  return Charge(bytes);
}

absl::Status Budget::ChargeItems(size_t count) {
  TS_RETURN_IF_ERROR(Charge(count, sizeof(Value)));
  return count * sizeof(Value) < kLargeBlockBytes ? absl::OkStatus()
                                                  : ChargeDram(count * sizeof(Value));
}

absl::Status Budget::ChargeDram(size_t bytes) {
  if (limits_.scratch == nullptr) return absl::OkStatus();
  if (bytes > limits_.max_dram_bytes - charged_.dram_bytes) {
    return LimitError("{} more bytes after {} that stay in DRAM, at most {}{}", bytes,
                      charged_.dram_bytes, limits_.max_dram_bytes, ScratchNote());
  }
  charged_.dram_bytes += bytes;
  return absl::OkStatus();
}

std::string Budget::ScratchNote() const {
  if (limits_.scratch == nullptr) return "";
  return fmt::format("; its scratch memory is {}, {} bytes", limits_.scratch->name(),
                     limits_.scratch->capacity_bytes());
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
