#pragma once

// The scheduling priority of a thread.

namespace tickstack {

// Sets the calling thread's nice value, from 0 (the default) to 19. On Linux it belongs to the
// thread, and threads that it starts inherit it. If threads compete for a core, a thread with nice
// value 10 gets about a tenth of the time of one with 0, which preempts it when it wakes up. On an
// idle core, the value has no effect. Lowering the value again needs a privilege; without it, the
// call has no effect.
void SetThreadNice(int nice);
// Returns the calling thread's nice value.
int ThreadNice();

// Asks the scheduler for slices of 0.1 ms, for a thread that works in short turns and should begin
// each of them without delay. From Linux 6.12 on, such a thread preempts one in the middle of a
// longer slice (3 ms by default) when it wakes up. Its share of processor time does not change. The
// call has no effect on older kernels, or if the thread does not have the default scheduling
// policy. Threads that it starts inherit the slices.
void AskForShortSlices();

}  // namespace tickstack
