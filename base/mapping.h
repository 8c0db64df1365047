#pragma once

// Memory in pages: the bytes of a file, mapped for reading, or pages of our own.
//
// A mapped file must not be truncated: reading beyond its new end would kill the process with
// SIGBUS. Files of a database are written once, renamed into place and never changed, so only a
// person could truncate one. Logs are truncated on purpose: base/file.h reads those.
//
// The kernel limits a process to vm.max_map_count mappings, including its stacks and large
// allocations; without a free one, starting a thread ends the process. So the mappings here are
// counted, and leave some for others:
//
//   0 ........................ 7/8 ........ 15/16 ........ vm.max_map_count
//   any Mapping ..............| MappingReserve | the rest of the process

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace tickstack {

// Owns its pages. Threads: any may read; the pages of OfMemory have one writer.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  // Maps all bytes of a regular file read-only; the descriptor is closed again. Never
  // blocks, even if the path is a pipe. kNotFound if there is no such file, kInvalidArgument if it
  // is not a regular file, kResourceExhausted if there are Max() mappings and none can be freed, or
  // the kernel refuses.
  // Cost: some system calls; pages are read when they are first touched.
  static absl::StatusOr<Mapping> OfFile(const std::string& path);

  // Allocates `bytes` zero bytes outside of malloc and scratch memory. kResourceExhausted as for
  // OfFile. Cost: pages are allocated when they are first touched.
  static absl::StatusOr<Mapping> OfMemory(size_t bytes);
  // Does the same for memory of which only a part may ever be touched: the kernel does not count it
  // as committed, and uses pages of the smallest size, so that untouched bytes take no memory. The
  // pages may have several writers, which must not write the same bytes at the same time.
  static absl::StatusOr<Mapping> OfSparseMemory(size_t bytes);

  // Returns the number of Mappings in this process. Threads: any.
  static size_t Live();
  // Returns the limit of Live(), except for a MappingReserve: 7/8 of vm.max_map_count.
  static size_t Max();
  // Replaces vm.max_map_count in the computation of Max(); 0 restores it. For tests.
  static void SetProcessMax(size_t mappings);
  // Sets the function that frees mappings when there are Max() of them; it returns true if it freed
  // any. It is called on any thread, so no caller of OfFile may hold a lock that it takes. Set
  // once.
  using Reclaim = bool (*)();
  static void SetReclaim(Reclaim reclaim);

  std::span<const std::byte> bytes() const { return {data_, bytes_}; }
  // After OfMemory and OfSparseMemory only.
  std::span<std::byte> writable_bytes() { return {data_, bytes_}; }
  // Gives pages of OfSparseMemory back to the kernel, so that their bytes are zero again. `offset`
  // is a multiple of the size of a page, and so is `bytes` unless the mapping ends there.
  void Forget(size_t offset, size_t bytes);
  // Takes pages of OfSparseMemory from the kernel by one call, instead of by a fault when each is
  // first written. Does nothing before Linux 5.14.
  void Populate(size_t offset, size_t bytes);

 private:
  friend class MappingReserve;
  Mapping(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}
  static absl::StatusOr<Mapping> Map(const std::string& name, size_t bytes, int protection,
                                     int flags, int fd);

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

// While it exists, its thread may use mappings beyond Max(), from a reserve. Used for work that
// needs few mappings and must not fail because queries use all of them.
class MappingReserve {
 public:
  MappingReserve();
  ~MappingReserve();
  MappingReserve(const MappingReserve&) = delete;
  MappingReserve& operator=(const MappingReserve&) = delete;

  // OK, or the first error of a file that this thread could not map for lack of mappings. Callers
  // that skip unreadable files use it to tell a lack of mappings from damage.
  const absl::Status& refused() const { return refused_; }

 private:
  friend class Mapping;
  MappingReserve* const outer_;
  absl::Status refused_;
};

}  // namespace tickstack
