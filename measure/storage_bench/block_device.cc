#include "measure/storage_bench/block_device.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace tickstack::measure::storage_bench {

BlockDevice BlockDevice::Of(const std::string& directory) {
  struct stat status{};
  if (::stat(directory.c_str(), &status) != 0) return BlockDevice("");
  return BlockDevice(
      fmt::format("/sys/dev/block/{}:{}", major(status.st_dev), minor(status.st_dev)));
}

std::optional<DeviceBytes> BlockDevice::Bytes() const {
  // Requests, merged requests, sectors and ms of reads, then the same of writes.
  constexpr uint64_t kSectorBytes = 512;
  std::ifstream file(folder_ + "/stat");
  std::array<uint64_t, 7> fields{};
  for (uint64_t& field : fields) {
    if (!(file >> field)) return std::nullopt;
  }
  return DeviceBytes{fields[2] * kSectorBytes, fields[6] * kSectorBytes};
}

std::string BlockDevice::Name() const {
  std::error_code error;
  const std::filesystem::path device = std::filesystem::canonical(folder_, error);
  return error ? "" : device.filename().string();
}

}  // namespace tickstack::measure::storage_bench
