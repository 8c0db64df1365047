#pragma once

// Writes one file of a partition from front to back: plain, or in kdb+'s compressed form, with
// blocks compressed on several threads.
//
//   plain        the appended bytes
//   compressed   kxzipped | block | block | .. | trailer with the length of each block
//
// Memory: that of FileStream. A compressed file needs 4 MiB more, and 8 bytes per block for the
// trailer.
//
// Threads: one owner, helped by the pool.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/worker_pool.h"
#include "disk/compression.h"
#include "disk/file_stream.h"
#include "disk/storage.h"

namespace tickstack::disk {

class FileImage {
 public:
  // Creates a file. `workers` may be nullptr, and so may `checksums`, which receives the checksums
  // of the bytes on the disk. `window` is passed to FileStream as its memory, and may be empty. If
  // the file is not compressed, Room() is in the window, so data that the caller puts in order
  // there is written without a copy. All arguments must outlive the image.
  static absl::StatusOr<FileImage> Create(const std::string& path,
                                          const CompressionOptions& compression,
                                          WorkerPool* workers, const Storage* storage,
                                          std::span<std::byte> window = {},
                                          ChecksumCollector* checksums = nullptr);

  absl::Status Append(std::span<const std::byte> bytes);
  // Room and Filled append without a copy. Room returns memory of at least 64 KiB. The caller fills
  // the first `bytes` of it, and then calls Filled(bytes).
  static constexpr size_t kRoomMin = FileStream::kRoomMin;
  std::span<std::byte> Room();
  absl::Status Filled(size_t bytes);

  // Writes the rest and syncs the file. Returns its size.
  absl::StatusOr<uint64_t> Finish();

  uint64_t bytes() const { return image_bytes_; }  // Appended so far.

 private:
  FileImage(FileStream stream, const CompressionOptions& compression, WorkerPool* workers);
  bool compressed() const { return compression_.algorithm != Compression::kNone; }
  absl::Status WriteBlocks(size_t bytes);
  ByteBuffer Trailer() const;

  struct StoredBlock {
    uint32_t bytes;
    uint32_t algorithm;  // 0: plain.
  };

  FileStream stream_;
  CompressionOptions compression_;
  WorkerPool* workers_;
  uint64_t image_bytes_ = 0;

  // For compressed files.
  ByteBuffer pending_;  // The first used_ bytes wait to be compressed.
  size_t used_ = 0;
  std::vector<StoredBlock> blocks_;
};

}  // namespace tickstack::disk
