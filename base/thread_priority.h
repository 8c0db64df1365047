#pragma once

namespace tickstack {

// Sets how the calling thread stands back for others, from 0 (as every thread begins) to 19. On
// Linux niceness belongs to the thread: where threads want more than there are cores, one of
// niceness 10 gets about a tenth of the time of one of 0, and one of 0 that wakes up takes its core
// at once. On an idle core it runs as fast as any. Threads that are started by this one begin with
// its niceness. Anybody may raise it; going back down takes a privilege and otherwise does nothing.
void SetThreadNice(int nice);
int ThreadNice();

}  // namespace tickstack
