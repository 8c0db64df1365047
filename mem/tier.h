#pragma once

// A tier: where bytes live. Columns take their chunks from one and never ask what is behind it:
// DRAM, a file system, persistent memory, a far NUMA node.
//
//   kind         memory                                      survives        DRAM it costs
//   dram         anonymous                                   nothing         all of it
//   filesystem   an unlinked file of a directory, mapped     nothing         none on DAX; tmpfs:
//   all;
//                                                                            a disk: the page cache
//   persistent   a file of a directory, mapped (libpmem)     a restart       as filesystem
//   numa         anonymous, bound to NUMA nodes              nothing         none of the near
//   node's
//   simulate     as filesystem with a path, else as dram     nothing         as those; SIMULATED:
//                                                                            who touches it waits
//
// All of a file tier's capacity is allocated in its file system when it opens, so that a full file
// system is an error at start by name; a full tier refuses an allocation. A store into a tier never
// raises SIGBUS for want of space.
//
// A process with a tier must not fork without exec: a file mapping is shared with the child.

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
  kExplicit,     // MAP_HUGETLB: reserved by the administrator; the tier does not open without.
  kNone,         // 4 KiB.
};
// Whether rows are written past the caches: twice as fast into slow memory, but the freshest rows
// are then out of the caches for those who ask for them at once.
enum class Streaming : uint8_t {
  kAuto,  // On DAX and on NUMA nodes if a measurement when the tier opens says that it pays.
  kOn,
  kOff,
};
enum class FileAllocator : uint8_t {
  kArena,    // One file of the capacity, ours: see file_arena.cc.
  kMemkind,  // memkind's fs-backed kind, slabs of 64 MiB and more.
};

struct TierOptions {
  std::string name = "dram";
  TierKind kind = TierKind::kDram;
  std::string path = {};             // filesystem, persistent: a directory that exists; simulate:
                                     // one, or none.
  std::string file = {};             // persistent: the file's name in `path`.
  size_t capacity_bytes = SIZE_MAX;  // In a directory a number is wanted, from 16 MiB on; elsewhere
                                     // SIZE_MAX is the machine's memory.
  std::vector<int> nodes = {};       // numa: wanted. dram: bound to these if there are any.
  HugePages huge_pages = HugePages::kTransparent;  // dram and numa.
  Streaming streaming = Streaming::kAuto;
  FileAllocator allocator = FileAllocator::kArena;  // filesystem.
  MediumModel model = {};                           // simulate: whose times it has.
  // A thread of the tier's own keeps so much memory touched ahead of need, so that whoever asks for
  // a chunk never waits for the kernel to find and clear its pages. 0: Allocate touches them.
  size_t touch_ahead_bytes = 0;
  // The same thread touches so much as soon as the tier is open, within its capacity: what a day
  // takes is then there before the day. Only what goes beyond is touched ahead.
  size_t touch_first_bytes = 0;
};

struct TierStats {
  std::string name;
  std::string kind;             // As in the configuration: "dram" ...
  size_t capacity_bytes = 0;    // SIZE_MAX: bounded by the machine only.
  size_t used_bytes = 0;        // Handed out and not given back, each allocation rounded.
  size_t high_water_bytes = 0;  // The largest used_bytes so far.
  uint64_t refused = 0;         // Allocations that were refused because the tier was full.
  std::string path;             // Of a file kind.
  std::string filesystem;       // "tmpfs", "ext4", "xfs"; "" for anonymous memory.
  bool dax = false;             // The mapping is the memory: MAP_SYNC was accepted.
  std::string nodes;            // "1", "0,1": bound to them. "": wherever the kernel puts it.
  bool streaming = false;       // Rows are written past the caches.
  std::string model;            // Of a simulated one: whose times it has; "": it is real.
  std::string figures;          // Of that model, as TextOf (medium_model.h).
};

class Medium;
class PersistentTier;

// Threads: any thread may call any member; allocation takes a lock, since it happens once per
// chunk.
class Tier {
 public:
  virtual ~Tier() = default;

  // Memory of `bytes` > 0 bytes, of any content, aligned to `kAlignment` (2 MiB from 2 MiB on),
  // that stays where it is until Free. kResourceExhausted, counted, when the tier's capacity does
  // not hold it; never a signal.
  virtual absl::StatusOr<std::byte*> Allocate(size_t bytes) = 0;
  // Gives back what Allocate(bytes) returned.
  virtual void Free(std::byte* memory, size_t bytes) = 0;
  virtual TierStats Stats() const = 0;
  // DRAM that the tier occupies now: touched anonymous memory, the file's pages in the page cache;
  // 0 on DAX and on far nodes. Cost: asks the kernel about every 4 KiB, 0.1 ms per GiB.
  virtual size_t ResidentBytes() const = 0;

  // The tier as one whose memory outlives the process; nullptr if it does not.
  virtual PersistentTier* persistent() { return nullptr; }

  // What is charged for touching the tier's memory (medium.h); nullptr: it is real memory.
  Medium* medium() const { return medium_; }

  // Whether a write of `bytes` that nobody reads at once should go past the caches.
  bool Streams(size_t bytes) const { return bytes >= streaming_from_bytes_; }

  // What an allocation of `bytes` counts for in used_bytes: the next power of two from 256 B up to
  // 1 MiB, and a multiple of 2 MiB above.
  static size_t RoundedBytes(size_t bytes);

  static constexpr size_t kAlignment = 64;
  static constexpr size_t kHugePageBytes = size_t{2} << 20;
  static constexpr size_t kSmallestBytes = 256;

 protected:
  size_t streaming_from_bytes_ = SIZE_MAX;
  Medium* medium_ = nullptr;
};

// Opens a tier of any kind but persistent (persistent_tier.h does).
// Errors: kInvalidArgument (an option that the kind does not take), kNotFound (no such directory or
// node), kResourceExhausted (the file system or node does not hold the capacity), each with the
// tier's name, what was found and what was expected.
absl::StatusOr<std::unique_ptr<Tier>> OpenTier(const TierOptions& options);

// OpenTier for a dram tier, which cannot fail.
std::unique_ptr<Tier> MakeDramTier(std::string_view name, size_t capacity_bytes = SIZE_MAX,
                                   size_t touch_ahead_bytes = 0);

// "dram", "filesystem", "persistent", "numa", "simulate".
std::string_view NameOf(TierKind kind);

}  // namespace tickstack::mem
