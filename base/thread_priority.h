#pragma once

namespace tickstack {

// Sets how the calling thread stands back for others, from 0 (as every thread begins) to 19. On
// Linux niceness belongs to the thread: where threads want more than there are cores, one of
// niceness 10 gets about a tenth of the time of one of 0, and one of 0 that wakes up takes its core
// at once. On an idle core it runs as fast as any. Threads that are started by this one begin with
// its niceness. Anybody may raise it; going back down takes a privilege and otherwise does nothing.
void SetThreadNice(int nice);
int ThreadNice();

// For a thread that works in short turns and should begin each of them at once: asks the scheduler
// for slices of 0.1 ms. From Linux 6.12 on such a thread, when it wakes up, takes a core from one
// that is in the middle of a longer slice, of 3 ms as a rule; before, it waited for the rest of it.
// It gets no more of the time in all. Older kernels ignore it; so does this where somebody gave the
// thread another scheduling policy. Threads that are started by this one begin with its slices.
void AskForShortSlices();

}  // namespace tickstack
