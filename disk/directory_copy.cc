#include "disk/directory_copy.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "disk/checksum_file.h"

namespace tickstack::disk {
namespace {

constexpr size_t kCopyBytes = size_t{4} << 20;

absl::Status EachEntryBelow(const std::string& directory, const std::string& below,
                            absl::FunctionRef<absl::Status(const std::string&, bool)> f) {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(directory + below));
  for (const DirectoryEntry& entry : entries) {
    const std::string path = below + "/" + entry.name;
    if (!entry.is_directory && !entry.is_file) {
      return InvalidArgument("{}{}: neither a file nor a directory", directory, path);
    }
    TS_RETURN_IF_ERROR(f(path, entry.is_directory));
    if (entry.is_directory) TS_RETURN_IF_ERROR(EachEntryBelow(directory, path, f));
  }
  return absl::OkStatus();
}

// Calls f(bytes, offset) for all of a file, piece by piece.
template <typename F>
absl::Status EachPiece(const File& file, F f) {
  ByteBuffer piece;
  piece.resize(kCopyBytes);
  for (uint64_t offset = 0;;) {
    TS_ASSIGN_OR_RETURN(const size_t read, file.ReadAt(offset, piece.span()));
    if (read == 0) return absl::OkStatus();
    TS_RETURN_IF_ERROR(f(std::span<const std::byte>(piece.data(), read), offset));
    offset += read;
  }
}

absl::StatusOr<uint32_t> ChecksumOf(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
  uint32_t crc = 0;
  TS_RETURN_IF_ERROR(EachPiece(file, [&](std::span<const std::byte> bytes, uint64_t) {
    crc = ExtendCrc32c(crc, bytes);
    return absl::OkStatus();
  }));
  return crc;
}

absl::Status CopyFile(const std::string& from, const std::string& to, const Storage& storage) {
  TS_ASSIGN_OR_RETURN(const File source, File::OpenForReading(from));
  TS_ASSIGN_OR_RETURN(File copy, storage.Create(to));
  uint32_t crc = 0;
  TS_RETURN_IF_ERROR(EachPiece(source, [&](std::span<const std::byte> bytes, uint64_t offset) {
    crc = ExtendCrc32c(crc, bytes);
    return storage.Write(copy, offset, bytes);
  }));
  TS_RETURN_IF_ERROR(storage.Sync(copy));
  TS_ASSIGN_OR_RETURN(const int64_t modified_ns, ModifiedNs(from));
  TS_RETURN_IF_ERROR(SetModifiedNs(to, modified_ns));
  TS_ASSIGN_OR_RETURN(const uint32_t found, ChecksumOf(to));
  if (found == crc) return absl::OkStatus();
  return DataLoss("{}: checksum {:08x}, expected {:08x} as of {}", to, found, crc, from);
}

// Makes each file of the copy by make(from, to).
absl::Status MakeCopy(
    const std::string& from, const std::string& to, const Storage& storage,
    absl::FunctionRef<absl::Status(const std::string&, const std::string&)> make) {
  TS_RETURN_IF_ERROR(storage.MakeDirectory(to));
  std::vector<std::string> directories = {to};
  TS_RETURN_IF_ERROR(EachEntry(from, [&](const std::string& path, bool is_directory) {
    if (!is_directory) return make(from + path, to + path);
    directories.push_back(to + path);
    return storage.MakeDirectory(to + path);
  }));
  for (const std::string& directory : directories) {
    TS_RETURN_IF_ERROR(storage.SyncDirectory(directory));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EachEntry(const std::string& directory,
                       absl::FunctionRef<absl::Status(const std::string&, bool)> f) {
  return EachEntryBelow(directory, "", f);
}

absl::Status CheckNoLinks(const std::string& directory) {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(directory));
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_directory || entry.inode != 0) continue;
    return FailedPrecondition("{}/{}: a symbolic link, expected a directory", directory,
                              entry.name);
  }
  return absl::OkStatus();
}

absl::Status CopyDirectory(const std::string& from, const std::string& to, const Storage& storage) {
  return MakeCopy(from, to, storage, [&](const std::string& source, const std::string& copy) {
    return CopyFile(source, copy, storage);
  });
}

absl::Status LinkDirectory(const std::string& from, const std::string& to, const Storage& storage) {
  return MakeCopy(from, to, storage, [&](const std::string& source, const std::string& copy) {
    return LinkFile(source, copy, storage);
  });
}

absl::Status LinkFile(const std::string& from, const std::string& to, const Storage& storage) {
  if (storage.Link(from, to).ok()) return absl::OkStatus();
  return CopyFile(from, to, storage);
}

}  // namespace tickstack::disk
