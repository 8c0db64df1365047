#pragma once

// A tier is the memory that columns allocate their chunks from. Columns do not know its kind.
//
//   kind        memory                                survives   DRAM that it occupies
//   dram        anonymous                             nothing    all of it
//   filesystem  an unlinked file, mapped              nothing    DAX: none; tmpfs: all of it;
//                                                                disk: the page cache
//   persistent  a file, mapped (libpmem)              a restart  as filesystem
//   numa        anonymous, bound to NUMA nodes        nothing    none on the near node
//   simulate    as filesystem if it has a path,       nothing    as that kind; accesses wait as
//               else as dram                                     the simulated medium would
//
// A file tier allocates its whole capacity in the file system when it opens. A full file system is
// therefore an error at start, and a store into a tier never raises SIGBUS for lack of space. A
// full tier refuses allocations, unless it may continue in DRAM (overflow_bytes).
//
// A process with a tier must not fork without exec: the child would share the file mapping.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "mem/medium_model.h"

namespace tickstack::mem {

enum class TierKind : uint8_t { kDram, kFilesystem, kPersistent, kNuma, kSimulate };
enum class HugePages : uint8_t {
  kTransparent,  // 2 MiB where the kernel grants them.
  // MAP_HUGETLB: pages that the administrator reserved; without them, opening the tier fails.
  kExplicit,
  kNone,  // 4 KiB.
};
// Whether rows are written past the processor's caches. Into slow memory, that is twice as fast,
// but a query for the latest rows then does not find them in the caches.
enum class Streaming : uint8_t {
  kAuto,  // On for DAX and NUMA nodes if a measurement at opening shows that it is faster.
  kOn,
  kOff,
};
enum class FileAllocator : uint8_t {
  kArena,    // One file of the whole capacity (file_arena.cc).
  kMemkind,  // memkind's fs-backed kind, which allocates slabs of 64 MiB or more.
};

struct TierOptions {
  std::string name = "dram";
  TierKind kind = TierKind::kDram;
  // An existing directory. Required for filesystem and persistent, optional for simulate.
  std::string path = {};
  std::string file = {};  // persistent: the file's name in `path`.
  // Required with a path: at least 16 MiB. Without one, SIZE_MAX is the machine's memory.
  size_t capacity_bytes = SIZE_MAX;
  // NUMA nodes of the memory. Required for numa, optional for dram.
  std::vector<int> nodes = {};
  HugePages huge_pages = HugePages::kTransparent;  // dram and numa.
  Streaming streaming = Streaming::kAuto;
  FileAllocator allocator = FileAllocator::kArena;  // filesystem.
  MediumModel model = {};                           // simulate: the medium to simulate.
  // Bytes of free memory that a thread of the tier keeps pre-touched, so that allocating a chunk
  // does not wait for the kernel to clear pages. 0: Allocate touches the pages.
  size_t touch_ahead_bytes = 0;
  // Bytes that the same thread touches as soon as the tier is open, such as the memory of a whole
  // day. Limited by the capacity.
  size_t touch_first_bytes = 0;
  // filesystem, numa: DRAM that allocations may take once the tier is full (overflow_tier.h). 0: a
  // full tier refuses them.
  size_t overflow_bytes = 0;
  // persistent: how long to wait for another process that still holds the file's lock, such as one
  // that was just killed.
  std::chrono::nanoseconds lock_wait{0};
  // persistent: another process still reads the file (PersistentTier::Release). Opening then fails
  // if the file would have to be replaced, and freed memory is not used again before ReuseFreed.
  bool read_by_another = false;
};

struct TierStats {
  std::string name;
  std::string kind;             // The kind as in the configuration, such as "dram".
  size_t capacity_bytes = 0;    // SIZE_MAX: bounded by the machine only.
  size_t used_bytes = 0;        // Live allocations, each rounded up (RoundedBytes).
  size_t high_water_bytes = 0;  // The largest used_bytes so far.
  uint64_t refused = 0;         // Allocations that were refused because the tier was full.
  std::string path;             // The directory; "" for a kind without files.
  std::string filesystem;       // "tmpfs", "ext4", "xfs"; "" for anonymous memory.
  bool dax = false;             // Stores go to the memory itself: MAP_SYNC was accepted.
  // Nodes that the memory is bound to, such as "0,1"; "" if it is not bound.
  std::string nodes;
  bool streaming = false;              // Rows are written past the caches.
  std::string model;                   // The simulated medium; "": real memory.
  std::string figures;                 // The model as text: TextOf (medium_model.h).
  size_t overflow_capacity_bytes = 0;  // DRAM for allocations that do not fit; 0: none.
  // Live allocations in that DRAM. `used_bytes` excludes them.
  size_t overflow_used_bytes = 0;
  size_t overflow_high_water_bytes = 0;  // The largest overflow_used_bytes so far.
};

class AgedTier;
class Medium;
class PersistentTier;

// Threads: any thread may call any member. Allocation takes a lock, which costs little, since it
// happens once per chunk.
class Tier {
 public:
  virtual ~Tier() = default;

  // Returns `bytes` > 0 bytes of uninitialised memory, aligned to kAlignment, or to 2 MiB if they
  // are 2 MiB or more. kResourceExhausted, which TierStats::refused counts, if the capacity does
  // not suffice.
  virtual absl::StatusOr<std::byte*> Allocate(size_t bytes) = 0;
  // Returns memory as Allocate does, or nullptr if the capacity does not suffice. Does not count as
  // refused: for callers that have another place for the memory.
  virtual std::byte* TryAllocate(size_t bytes) = 0;
  // Frees memory that Allocate(bytes) or TryAllocate(bytes) returned.
  virtual void Free(std::byte* memory, size_t bytes) = 0;
  // True if the memory lies in this tier.
  virtual bool Has(const std::byte* memory) const = 0;
  virtual TierStats Stats() const = 0;
  // Returns the DRAM that the tier occupies now, in bytes: touched anonymous memory, or the file's
  // pages in the page cache; 0 on DAX and on far nodes. Cost: 0.1 ms per GiB of a file, as it asks
  // the kernel about every 4 KiB.
  virtual size_t ResidentBytes() const = 0;

  // Returns this tier if its memory outlives the process, else nullptr.
  virtual PersistentTier* persistent() { return nullptr; }
  // Returns this tier if old rows move from it to another one, else nullptr.
  virtual AgedTier* aged() { return nullptr; }

  // Returns the simulated medium that accesses are charged to (medium.h); nullptr for real memory.
  Medium* medium() const { return medium_; }

  // True if a write of `bytes` that is not read again soon should bypass the caches.
  bool Streams(size_t bytes) const { return bytes >= streaming_from_bytes_; }
  // Returns the smallest size for which Streams is true; SIZE_MAX if there is none.
  size_t streaming_from_bytes() const { return streaming_from_bytes_; }

  // Returns the size that an allocation of `bytes` has in used_bytes: the next power of two from
  // 256 B to 1 MiB, or the next multiple of 2 MiB.
  static size_t RoundedBytes(size_t bytes);

  static constexpr size_t kAlignment = 64;
  static constexpr size_t kHugePageBytes = size_t{2} << 20;
  static constexpr size_t kSmallestBytes = 256;

 protected:
  size_t streaming_from_bytes_ = SIZE_MAX;
  Medium* medium_ = nullptr;
};

// Opens a tier of any kind except persistent, which PersistentTier::Open opens.
// Errors: kInvalidArgument (an option that the kind does not take), kNotFound (no such directory or
// node), kResourceExhausted (the file system or node does not hold the capacity), each with the
// tier's name, what was found and what was expected.
absl::StatusOr<std::unique_ptr<Tier>> OpenTier(const TierOptions& options);

// Opens a dram tier, which cannot fail.
std::unique_ptr<Tier> MakeDramTier(std::string_view name, size_t capacity_bytes = SIZE_MAX,
                                   size_t touch_ahead_bytes = 0);

// "dram", "filesystem", "persistent", "numa", "simulate".
std::string_view NameOf(TierKind kind);

}  // namespace tickstack::mem
