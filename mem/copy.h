#pragma once

#include <cstddef>

namespace tickstack::mem {

// Copies past the caches (non-temporal stores), with the widest instructions that the processor
// has. These stores are weakly ordered: a release-store that is to publish them comes after
// DrainStreaming. Threads: reentrant; the drain is for the calling thread's stores.
void CopyStreaming(std::byte* to, const std::byte* from, size_t bytes);
void DrainStreaming();

}  // namespace tickstack::mem
