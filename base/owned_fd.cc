#include "base/owned_fd.h"

#include <unistd.h>

#include <utility>

namespace tickstack {

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

int OwnedFd::Release() { return std::exchange(fd_, -1); }

void OwnedFd::Reset() {
  if (fd_ >= 0) close(Release());
}

}  // namespace tickstack
