#include "base/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/status.h"

namespace tickstack {
namespace {

absl::Status MapError(int error_number, const std::string& path, size_t bytes) {
  if (error_number == ENOMEM) {
    return ResourceExhausted(
        "{}: mmap of {} bytes: no memory, or as many mappings as vm.max_map_count allows", path,
        bytes);
  }
  return Annotate(ErrnoStatus(error_number, "mmap"), path);
}

}  // namespace

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

absl::StatusOr<Mapping> Mapping::OfFile(const std::string& path) {
  int fd;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Annotate(ErrnoStatus(errno, "open"), path);

  struct stat status{};
  if (::fstat(fd, &status) != 0) {
    const int error_number = errno;
    ::close(fd);
    return Annotate(ErrnoStatus(error_number, "fstat"), path);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    return InvalidArgument("{}: {}, expected a file", path,
                           S_ISDIR(status.st_mode) ? "a directory" : "a device or pipe");
  }
  const auto bytes = static_cast<size_t>(status.st_size);
  if (bytes == 0) {  // mmap refuses to map nothing.
    ::close(fd);
    return Mapping();
  }
  void* const data = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  const int error_number = errno;
  ::close(fd);
  if (data == MAP_FAILED) return MapError(error_number, path, bytes);
  return Mapping(static_cast<std::byte*>(data), bytes);
}

absl::StatusOr<Mapping> Mapping::OfMemory(size_t bytes) {
  if (bytes == 0) return Mapping();
  void* const data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return MapError(errno, "memory", bytes);
  return Mapping(static_cast<std::byte*>(data), bytes);
}

}  // namespace tickstack
