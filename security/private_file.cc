#include "security/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

#include "base/file.h"
#include "base/owned_fd.h"
#include "base/status.h"

namespace tickstack::security {
namespace {

constexpr off_t kBytesMax = off_t{16} << 20;

absl::Status ErrorOf(const std::string& path, std::string_view call) {
  return Annotate(ErrnoStatus(errno, call), path);
}

absl::Status CheckAccess(const std::string& path, const struct stat& file, mode_t forbidden) {
  if (!S_ISREG(file.st_mode)) return FailedPrecondition("{}: expected a regular file", path);
  if (file.st_size > kBytesMax) {
    return ResourceExhausted("{}: {} bytes, at most {} are read", path, file.st_size, kBytesMax);
  }
  if ((file.st_mode & forbidden) != 0) {
    const bool group = forbidden == kOwnerAndGroupReads;
    return FailedPrecondition(
        "{}: mode {:04o}, expected 0600{}: others can read or change it; chmod 600 {}", path,
        file.st_mode & 07777, group ? " or 0640" : "", path);
  }
  if (file.st_uid == ::geteuid() || file.st_uid == 0) return absl::OkStatus();
  return FailedPrecondition("{}: owned by user id {}, expected {} or root", path, file.st_uid,
                            ::geteuid());
}

absl::Status WriteAll(int fd, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrorOf(path, "write");
    text.remove_prefix(static_cast<size_t>(written));
  }
  return ::fsync(fd) == 0 ? absl::OkStatus() : ErrorOf(path, "fsync");
}

// A new file beside `path`, which the destructor removes.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : name_(path + ".XXXXXX") {
    fd_ = OwnedFd(::mkostemp(name_.data(), O_CLOEXEC));  // Mode 0600.
  }
  ~NewFile() {
    if (fd_.is_open()) ::unlink(name_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool is_open() const { return fd_.is_open(); }
  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  OwnedFd fd_;
};

absl::Status KeepAccess(const NewFile& file, const struct stat& old) {
  const bool same_owner = old.st_uid == ::geteuid() && old.st_gid == ::getegid();
  if (!same_owner && ::fchown(file.fd(), old.st_uid, old.st_gid) != 0) {
    return ErrorOf(file.name(), "fchown");
  }
  return ::fchmod(file.fd(), old.st_mode & 0777) == 0 ? absl::OkStatus()
                                                      : ErrorOf(file.name(), "fchmod");
}

}  // namespace

absl::StatusOr<FileStamp> StampOf(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return ErrorOf(path, "stat");
  return FileStamp{file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec, file.st_size,
                   file.st_ino};
}

absl::StatusOr<std::string> ReadPrivateFile(const std::string& path, mode_t forbidden) {
  // O_NONBLOCK: opening a pipe does not wait for its writer.
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return ErrorOf(path, "open");
  struct stat file{};
  if (::fstat(fd.get(), &file) != 0) return ErrorOf(path, "fstat");
  TS_RETURN_IF_ERROR(CheckAccess(path, file, forbidden));
  std::string text(static_cast<size_t>(file.st_size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrorOf(path, "read");
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  text.resize(filled);
  return text;
}

absl::Status WritePrivateFile(const std::string& path, std::string_view text) {
  const NewFile file(path);
  if (!file.is_open()) return ErrorOf(file.name(), "mkostemp");
  struct stat old{};
  if (::stat(path.c_str(), &old) == 0) TS_RETURN_IF_ERROR(KeepAccess(file, old));
  TS_RETURN_IF_ERROR(WriteAll(file.fd(), file.name(), text));
  return RenameReplacing(file.name(), path);
}

absl::Status CreatePrivateFile(const std::string& path, std::string_view text) {
  const NewFile file(path);
  if (!file.is_open()) return ErrorOf(file.name(), "mkostemp");
  TS_RETURN_IF_ERROR(WriteAll(file.fd(), file.name(), text));
  // Unlike a rename, a link fails if there is a file.
  if (::link(file.name().c_str(), path.c_str()) != 0) {
    if (errno == EEXIST) return absl::AlreadyExistsError(AbslView(path));
    return ErrorOf(path, "link");
  }
  return SyncDirectory(DirectoryOf(path));
}

}  // namespace tickstack::security
