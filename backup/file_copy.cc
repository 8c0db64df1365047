#include "backup/file_copy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::backup {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

// Calls `use` with each piece of bytes [begin, end).
template <typename Use>
absl::Status ForEachPiece(const File& file, uint64_t begin, uint64_t end, Use use) {
  ByteBuffer piece;
  for (uint64_t at = begin; at < end; at += piece.size()) {
    piece.resize(std::min(kPieceBytes, end - at));
    TS_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(at, piece.span()));
    if (got < piece.size()) {
      return DataLoss("{}: ends at byte {}, expected {}", file.path(), at + got, end);
    }
    TS_RETURN_IF_ERROR(use(at, piece.span()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint32_t> CopyBytes(const File& from, uint64_t begin, uint64_t end, uint32_t crc,
                                   File& to) {
  TS_RETURN_IF_ERROR(
      ForEachPiece(from, begin, end, [&](uint64_t at, std::span<const std::byte> piece) {
        crc = ExtendCrc32c(crc, piece);
        return to.WriteAt(at, piece);
      }));
  return crc;
}

absl::StatusOr<uint32_t> ChecksumOf(const File& file, uint64_t bytes) {
  uint32_t crc = 0;
  TS_RETURN_IF_ERROR(
      ForEachPiece(file, 0, bytes, [&crc](uint64_t, std::span<const std::byte> piece) {
        crc = ExtendCrc32c(crc, piece);
        return absl::OkStatus();
      }));
  return crc;
}

absl::StatusOr<FileFacts> FactsOf(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return ErrnoStatus(errno, path);
  return FileFacts{static_cast<uint64_t>(found.st_size),
                   found.st_mtim.tv_sec * kNsPerSecond + found.st_mtim.tv_nsec};
}

absl::Status SetChangedNs(const std::string& path, int64_t changed_ns) {
  timespec times[2] = {};
  times[0].tv_nsec = UTIME_OMIT;
  times[1].tv_sec = changed_ns / kNsPerSecond;
  times[1].tv_nsec = changed_ns % kNsPerSecond;
  if (::utimensat(AT_FDCWD, path.c_str(), times, 0) != 0) return ErrnoStatus(errno, path);
  return absl::OkStatus();
}

}  // namespace tickstack::backup
