#include "disk/file_stream.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace tickstack::disk {

void FileStream::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, std::align_val_t{File::kDirectAlignment});
}

FileStream::FileStream(File file, const Storage* storage, std::span<std::byte> memory,
                       ChecksumCollector* checksums)
    : file_(std::move(file)), storage_(storage), checksums_(checksums), memory_(memory) {
  if (!memory_.empty()) return;
  own_.reset(static_cast<std::byte*>(
      ::operator new(kMemoryMin, std::align_val_t{File::kDirectAlignment})));
  memory_ = {own_.get(), kMemoryMin};
}

absl::StatusOr<FileStream> FileStream::Create(const std::string& path, const Storage* storage,
                                              std::span<std::byte> memory,
                                              ChecksumCollector* checksums) {
  TS_CHECK(memory.empty() ||
           (memory.size() >= kMemoryMin &&
            reinterpret_cast<uintptr_t>(memory.data()) % File::kDirectAlignment == 0));
  TS_ASSIGN_OR_RETURN(File file, storage->Create(path));
  file.SetDirect(true);
  return FileStream(std::move(file), storage, memory, checksums);
}

absl::Status FileStream::WriteFirst(size_t bytes) {
  for (size_t at = 0; at < bytes; at += kPieceBytes) {
    const std::span<const std::byte> piece = memory_.subspan(at, std::min(kPieceBytes, bytes - at));
    if (checksums_ != nullptr) written_.Append(piece);
    TS_RETURN_IF_ERROR(storage_->Write(file_, written_bytes_, piece));
    // The disk has the data, or should get it soon.
    if (!file_.is_direct()) file_.StartWriting(written_bytes_, piece.size());
    written_bytes_ += piece.size();
  }
  used_ -= bytes;
  std::memmove(memory_.data(), memory_.data() + bytes, used_);
  return absl::OkStatus();
}

absl::Status FileStream::Filled(size_t bytes) {
  used_ += bytes;
  return used_ < kPieceBytes ? absl::OkStatus() : WriteFirst(used_ / kPieceBytes * kPieceBytes);
}

absl::Status FileStream::Append(std::span<const std::byte> bytes) {
  return AppendToRoom(*this, bytes);
}

absl::StatusOr<uint64_t> FileStream::Finish() {
  TS_RETURN_IF_ERROR(WriteFirst(used_ / File::kDirectAlignment * File::kDirectAlignment));
  file_.SetDirect(false);
  TS_RETURN_IF_ERROR(WriteFirst(used_));
  TS_RETURN_IF_ERROR(storage_->Sync(file_));
  if (checksums_ != nullptr) checksums_->Add(file_.path(), std::move(written_));
  return written_bytes_;
}

}  // namespace tickstack::disk
