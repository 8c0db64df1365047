#pragma once

// Writes one file of a partition from front to back: plain, or in kdb+'s compressed form, with
// blocks compressed on several threads.
//
//   plain        the appended bytes
//   compressed   kxzipped | block | block | .. | trailer with the length of each block
//
// Memory: that of FileStream; if compressed, 4 MiB more, and 8 bytes per block for the trailer.
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
  // Creates a file. `workers` and `checksums`, which gets the checksums of the file as it is on the
  // disk, may be nullptr. They, the storage and `window` must outlive the image; `window` is memory
  // as for FileStream, or empty. If the file is written plain, Room() is in the window, so that
  // data which is put in order there is written from there.
  static absl::StatusOr<FileImage> Create(const std::string& path,
                                          const CompressionOptions& compression,
                                          WorkerPool* workers, const Storage* storage,
                                          std::span<std::byte> window = {},
                                          ChecksumCollector* checksums = nullptr);

  absl::Status Append(std::span<const std::byte> bytes);
  // The same without a copy: returns room of at least 64 KiB, whose first `bytes` the caller fills.
  static constexpr size_t kRoomMin = FileStream::kRoomMin;
  std::span<std::byte> Room();
  absl::Status Filled(size_t bytes);

  // Writes the rest and syncs. Returns the bytes of the file.
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
