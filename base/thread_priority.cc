#include "base/thread_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace tickstack {
namespace {

// The kernel's structure; the C library has no wrapper.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = SCHED_OTHER;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;  // For SCHED_OTHER: the slice.
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

id_t ThreadId() { return static_cast<id_t>(::gettid()); }

}  // namespace

void SetThreadNice(int nice) { ::setpriority(PRIO_PROCESS, ThreadId(), nice); }

int ThreadNice() { return ::getpriority(PRIO_PROCESS, ThreadId()); }

void AskForShortSlices() {
  if (::sched_getscheduler(0) != SCHED_OTHER) return;
  SchedulingAttributes attributes;
  attributes.nice = ThreadNice();
  attributes.runtime_ns = 100'000;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace tickstack
