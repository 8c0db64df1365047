#pragma once

// Writes a new file from front to back, past the page cache if the file system supports that:
//
//   | 2 MiB | 2 MiB | .. | whole pages | rest |     the rest, less than a page, uses the page cache
//
// An end of day writes about as much data as the machine has memory, and it is not read soon. In
// the page cache, it would displace pages that queries of past days use, and each 4 KiB would cost
// a copy and a free page. And once too many dirty pages waited for the disk, the kernel would block
// every writer, including the tickerplant, which writes its log.
//
// A write returns when the disk has the data, so write several files concurrently to keep both the
// disk and a core busy.
//
// Memory: 2 MiB, or the caller's memory, which is written whenever it is full. Threads: one owner.

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
#include "disk/checksum_file.h"
#include "disk/storage.h"

namespace tickstack::disk {

// Appends bytes to a sink that has Room() and Filled(), such as a FileStream.
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
  // Creates a file and a stream into it. The storage must outlive the stream. Room() is in
  // `memory`, which must be aligned to File::kDirectAlignment, have at least kMemoryMin bytes, and
  // outlive the stream, too. If `memory` is empty, the stream allocates its own. The checksums of
  // the written bytes go to `checksums`, which may be nullptr.
  static absl::StatusOr<FileStream> Create(const std::string& path, const Storage* storage,
                                           std::span<std::byte> memory = {},
                                           ChecksumCollector* checksums = nullptr);

  absl::Status Append(std::span<const std::byte> bytes);
  // Room and Filled append without a copy. Room returns memory of at least 64 KiB. The caller fills
  // the first `bytes` of it, and then calls Filled(bytes).
  static constexpr size_t kRoomMin = size_t{64} << 10;
  static constexpr size_t kMemoryMin = (size_t{2} << 20) + kRoomMin;
  std::span<std::byte> Room() { return memory_.subspan(used_); }
  absl::Status Filled(size_t bytes);

  // Writes the rest and syncs the file. Returns its size.
  absl::StatusOr<uint64_t> Finish();

  uint64_t bytes() const { return written_bytes_ + used_; }  // Appended so far.

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  static constexpr size_t kPieceBytes = kMemoryMin - kRoomMin;

  FileStream(File file, const Storage* storage, std::span<std::byte> memory,
             ChecksumCollector* checksums);
  absl::Status WriteFirst(size_t bytes);

  File file_;
  const Storage* storage_;
  ChecksumCollector* checksums_;  // May be nullptr.
  BlockChecksums written_;        // Checksums of the written bytes, if there is a collector.
  std::unique_ptr<std::byte, Free> own_;
  std::span<std::byte> memory_;  // The first used_ bytes wait to be written.
  size_t used_ = 0;
  uint64_t written_bytes_ = 0;
};

}  // namespace tickstack::disk
