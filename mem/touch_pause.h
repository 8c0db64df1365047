#pragma once

// The kernel holds a process's map while it touches memory. A thread that maps memory meanwhile,
// such as the stack of a new thread, waits for it: as long as the toucher is kept from its core.
// So a process can pause the threads that touch memory ahead while it must not wait.

#include <mutex>
#include <shared_mutex>

namespace tickstack::mem {

// While one exists, no tier of this process touches memory ahead. Allocations then touch their own
// pages. Its constructor waits until the pages that are being touched are done. The thread that has
// one must not close a tier.
class TouchPause {
 public:
  TouchPause();

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

// What a thread that touches ahead has while it does so. Its constructor waits for the end of a
// pause; the thread must not have reserved memory then, because allocations wait for that.
class TouchPermit {
 public:
  TouchPermit();

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

}  // namespace tickstack::mem
