#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tickstack::measure::storage_bench {

// What a device has read and written since the machine started, for all its users. nano asks iostat
// for this.
struct DeviceBytes {
  uint64_t read = 0;
  uint64_t written = 0;
};

// The block device below a directory.
class BlockDevice {
 public:
  // Finds the device; it has no counters if the file system has none of its own, as tmpfs, overlay,
  // btrfs and network file systems.
  static BlockDevice Of(const std::string& directory);

  std::optional<DeviceBytes> Bytes() const;
  // Returns a name such as "vda"; "" if there is no device.
  std::string Name() const;

 private:
  explicit BlockDevice(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;  // In /sys; may not exist.
};

}  // namespace tickstack::measure::storage_bench
