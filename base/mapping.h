#pragma once

// Memory by pages: a file's bytes, mapped for reading, or pages of our own.
//
// A mapped file must not be cut short while it is mapped: who then reads beyond its new end is
// killed by SIGBUS. Files of a database are written once, renamed into their place and never
// changed in it, so only a hand does that. Logs are cut on purpose: base/file.h reads those.
//
// The kernel lets a process have vm.max_map_count mappings, its stacks and large allocations among
// them: who takes the last one ends whoever next begins a thread. So these here are counted and
// leave some of them to others:
//
//   0 ........................ 7/8 ........ 15/16 ........ vm.max_map_count
//   any Mapping ..............| MappingReserve | the rest of the process
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace tickstack {

// Owns its pages. Threads: any may read; who fills pages of our own does so alone.
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

  // All bytes of a regular file, read-only; the descriptor is closed again. Never waits, as opening
  // a pipe would. kNotFound if there is none, kInvalidArgument if it is no regular file,
  // kResourceExhausted if there are Max() mappings and nobody lets go of one, or the kernel
  // refuses. Cost: some system calls; pages are read when they are first touched.
  static absl::StatusOr<Mapping> OfFile(const std::string& path);

  // `bytes` zero bytes that are the caller's alone, neither malloc's nor a query's scratch memory.
  // kResourceExhausted as for OfFile. Cost: pages come when they are first touched.
  static absl::StatusOr<Mapping> OfMemory(size_t bytes);

  // Return the number of mappings of this process, and their limit. Threads: any.
  static size_t Live();
  static size_t Max();
  // Replaces vm.max_map_count, of which Max() is a part; 0 restores it. For tests.
  static void SetProcessMax(size_t mappings);
  // Sets the function that frees mappings when there are Max() of them; it returns true if it freed
  // any. It is called on any thread, so no caller of OfFile may hold a lock that it takes. Set
  // once.
  using LetGo = bool (*)();
  static void SetLetGo(LetGo let_go);

  std::span<const std::byte> bytes() const { return {data_, bytes_}; }
  std::span<std::byte> writable_bytes() { return {data_, bytes_}; }  // After OfMemory only.

 private:
  friend class MappingReserve;
  Mapping(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}
  static absl::StatusOr<Mapping> Map(const std::string& name, size_t bytes, int protection,
                                     int flags, int fd);

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

// While it lives, its thread may take mappings beyond Max(), from a reserve. For work that needs
// few mappings and must not fail because queries hold all of them.
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
