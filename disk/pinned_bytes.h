#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace tickstack::disk {

// Bytes of a file that stay valid while this object exists. Cheap to copy. If the bytes are those
// of a mapped file itself, there is no owner, and they are valid while the file's reader exists.
class PinnedBytes {
 public:
  PinnedBytes() = default;
  explicit PinnedBytes(std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner = nullptr)
      : bytes_(bytes), owner_(std::move(owner)) {}

  std::span<const std::byte> span() const { return bytes_; }
  const std::byte* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  PinnedBytes subspan(size_t offset, size_t n) const {
    return PinnedBytes(bytes_.subspan(offset, n), owner_);
  }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace tickstack::disk
