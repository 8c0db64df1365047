#include "base/thread_priority.h"

#include <sys/resource.h>
#include <unistd.h>

namespace tickstack {
namespace {

id_t ThreadId() { return static_cast<id_t>(::gettid()); }

}  // namespace

void SetThreadNice(int nice) { ::setpriority(PRIO_PROCESS, ThreadId(), nice); }

int ThreadNice() { return ::getpriority(PRIO_PROCESS, ThreadId()); }

}  // namespace tickstack
