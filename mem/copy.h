#pragma once

#include <cstddef>

namespace tickstack::mem {

// Copies past the caches (non-temporal stores), with the processor's widest instructions. These
// stores are weakly ordered: call DrainStreaming before a release-store that publishes them.
// Threads: reentrant; the drain applies to the calling thread's stores.
void CopyStreaming(std::byte* to, const std::byte* from, size_t bytes);
void DrainStreaming();

}  // namespace tickstack::mem
