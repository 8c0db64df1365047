#pragma once

// A new file that is written from front to back, past the page cache where the file system can:
//
//   | 2 MiB | 2 MiB | .. | whole pages | rest |        the rest, of less than a page, goes through
//   it
//
// The day that an end of day writes is as large as memory and read by nobody right now. Through the
// page cache it would push out what queries of past days have there, cost a copy and a page to find
// for each 4 KiB, and once too much of it waits for the disk the kernel stops whoever writes next,
// the tickerplant with its log as well.
//
// A write returns when the disk has it, so who wants the disk and a core busy at once writes
// several files at once.
//
// Memory: 2 MiB, or what the caller has for it: then it is written when that is full. Threads: one
// owner.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/status.h"
#include "disk/storage.h"

namespace tickstack {

// Append of whatever has Room() and Filled() as a FileStream has them.
template <typename Sink>
absl::Status AppendToRoom(Sink& sink, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> room = sink.Room();
    const size_t part = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), part);
    TS_RETURN_IF_ERROR(sink.Filled(part));
    bytes = bytes.subspan(part);
  }
  return absl::OkStatus();
}

class FileStream {
 public:
  // The storage outlives the stream. `memory`, at a multiple of File::kDirectAlignment and of
  // kMemoryMin bytes at least, is what Room() is of, and outlives it too; empty: the stream's own.
  static absl::StatusOr<FileStream> Create(const std::string& path, const Storage* storage,
                                           std::span<std::byte> memory = {});

  absl::Status Append(std::span<const std::byte> bytes);
  // The same without a copy: room of 64 KiB at least, of which the caller fills the first `bytes`.
  static constexpr size_t kRoomMin = size_t{64} << 10;
  static constexpr size_t kMemoryMin = (size_t{2} << 20) + kRoomMin;
  std::span<std::byte> Room() { return memory_.subspan(used_); }
  absl::Status Filled(size_t bytes);

  // Writes the rest and syncs. Returns the bytes of the file.
  absl::StatusOr<uint64_t> Finish();

  uint64_t bytes() const { return written_bytes_ + used_; }  // Appended so far.

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  static constexpr size_t kPieceBytes = kMemoryMin - kRoomMin;

  FileStream(File file, const Storage* storage, std::span<std::byte> memory);
  absl::Status WriteFirst(size_t bytes);

  File file_;
  const Storage* storage_;
  std::unique_ptr<std::byte, Free> own_;
  std::span<std::byte> memory_;  // The first used_ bytes of it wait to be written.
  size_t used_ = 0;
  uint64_t written_bytes_ = 0;
};

}  // namespace tickstack
