#pragma once

// Memory by pages: a file's bytes, mapped for reading, or pages of our own.
//
// A mapped file must not be cut short while it is mapped: who then reads beyond its new end is
// killed by SIGBUS. Files of a database are written once, renamed into their place and never
// changed in it, so only a hand does that. Logs are cut on purpose: base/file.h reads those.

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
  // kResourceExhausted if the process has as many mappings as the kernel lets it
  // (vm.max_map_count). Cost: some system calls; pages are read when they are first touched.
  static absl::StatusOr<Mapping> OfFile(const std::string& path);

  // `bytes` zero bytes that are the caller's alone, neither malloc's nor a query's scratch memory.
  // kResourceExhausted if the system refuses. Cost: pages come when they are first touched.
  static absl::StatusOr<Mapping> OfMemory(size_t bytes);

  std::span<const std::byte> bytes() const { return {data_, bytes_}; }
  std::span<std::byte> writable_bytes() { return {data_, bytes_}; }  // Only of OfMemory.

 private:
  Mapping(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tickstack
