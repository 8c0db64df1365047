#include "query/columns/budget.h"

#include <pthread.h>

#include "base/check.h"
#include "query/columns/errors.h"
#include "table/value.h"

namespace tickstack::query {

namespace {

size_t Left(size_t limit, size_t charged, size_t held) {
  // A held value may have been charged as well when it was built, so the sum may be more than the
  // limit.
  const size_t used = charged + held;
  return used < limit ? limit - used : 0;
}

// The stack that a function may need which evaluates no other expression, with lists in lists.
constexpr size_t kStackReserve = size_t{512} << 10;

// Returns the bytes between here and the end of the thread's stack. Cost: some microseconds, once a
// thread.
size_t StackLeft() {
  thread_local const auto end = [] {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    size_t bytes = 0;
    TS_CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
    TS_CHECK(pthread_attr_getstack(&attributes, &lowest, &bytes) == 0);
    pthread_attr_destroy(&attributes);
    return reinterpret_cast<uintptr_t>(lowest);
  }();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > end ? here - end : 0;
}

}  // namespace

size_t Budget::LeftBytes() const {
  return Left(limits_.max_result_bytes, charged_.bytes, held_.bytes);
}

size_t Budget::LeftDramBytes() const {
  return Left(limits_.max_dram_bytes, charged_.dram_bytes, held_.dram_bytes);
}

absl::Status Budget::Charge(size_t bytes) {
  return Charge(Amount{bytes, bytes < kLargeBlockBytes ? bytes : 0});
}

absl::Status Budget::Charge(Amount amount) {
  if (amount.bytes > LeftBytes()) {
    return LimitError("{} more bytes after {}, at most {} for a query{}", amount.bytes,
                      charged_.bytes + held_.bytes, limits_.max_result_bytes, ScratchNote());
  }
  if (amount.dram_bytes > 0) TS_RETURN_IF_ERROR(ChargeDram(amount.dram_bytes));
  charged_.bytes += amount.bytes;
  NotePeak();
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

// The value was charged when it was built, so only the sum of held values is checked here.
absl::Status Budget::Hold(Amount amount) {
  const size_t left = Left(limits_.max_result_bytes, 0, held_.bytes);
  const size_t left_dram = Left(limits_.max_dram_bytes, 0, held_.dram_bytes);
  if (amount.bytes > left || (limits_.scratch != nullptr && amount.dram_bytes > left_dram)) {
    return LimitError("{} more bytes kept after {}, at most {} for a query{}", amount.bytes,
                      held_.bytes, limits_.max_result_bytes, ScratchNote());
  }
  held_.bytes += amount.bytes;
  held_.dram_bytes += amount.dram_bytes;
  NotePeak();
  return absl::OkStatus();
}

absl::Status Budget::Level::Check() const {
  if (budget_.levels_ > budget_.limits_.max_levels) {
    return StackError("more than {} levels of evaluation", budget_.limits_.max_levels);
  }
  // Checks the bytes left, because frames and stacks differ in size: no count of levels is safe
  // everywhere.
  if (StackLeft() >= kStackReserve) return absl::OkStatus();
  return StackError("{} levels of evaluation fill the thread's stack", budget_.levels_);
}

absl::Status Budget::ChargeDram(size_t bytes) {
  if (limits_.scratch == nullptr) return absl::OkStatus();
  if (bytes > LeftDramBytes()) {
    return LimitError("{} more bytes after {} that stay in DRAM, at most {}{}", bytes,
                      charged_.dram_bytes + held_.dram_bytes, limits_.max_dram_bytes,
                      ScratchNote());
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
  if (limits_.deadline == std::chrono::steady_clock::time_point::max()) return absl::OkStatus();
  const auto now = std::chrono::steady_clock::now();
  if (now < limits_.deadline) return absl::OkStatus();
  // Reads the thread's clock only after the deadline, because that is a system call.
  if (limits_.processor_time.count() > 0 &&
      now < limits_.deadline + Limits::kClockPerProcessor * limits_.processor_time &&
      ThreadProcessorNs() - began_at_ < limits_.processor_time.count()) {
    return absl::OkStatus();
  }
  return StopError("the query's time is over");
}

}  // namespace tickstack::query
