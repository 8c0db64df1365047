#include "base/machine.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/directory.h"

namespace tickstack {

std::string ProcField(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const size_t text = line.find_first_not_of(" \t", colon + 1);
    return text == std::string::npos ? "" : line.substr(text);
  }
  return "";
}

Machine ThisMachine() {
  Machine machine;
  utsname system{};
  ::uname(&system);
  machine.kernel = fmt::format("{} {}", system.sysname, system.release);
  machine.cpu = ProcField("/proc/cpuinfo", "model name");
  machine.cores = static_cast<int>(std::thread::hardware_concurrency());
  machine.memory_bytes = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  machine.available_bytes =
      std::strtoull(ProcField("/proc/meminfo", "MemAvailable").c_str(), nullptr, 10) * 1024;
  const auto nodes = ListDirectory("/sys/devices/system/node");
  if (nodes.ok()) {
    for (const DirectoryEntry& entry : *nodes) {
      const bool is_node = entry.name.starts_with("node") && entry.name.size() > 4 &&
                           std::isdigit(static_cast<unsigned char>(entry.name[4])) != 0;
      machine.numa_nodes += is_node ? 1 : 0;
    }
  }
  return machine;
}

uint64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : before;
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string MountId(const std::string& path) {
  struct stat of_path{};
  if (::stat(path.c_str(), &of_path) != 0) return "";
  const std::string device = fmt::format("{}:{}", major(of_path.st_dev), minor(of_path.st_dev));
  const auto with_inode = [](const std::string& object) {
    struct stat found{};
    if (::stat(object.c_str(), &found) != 0) return std::string();
    return fmt::format("{}.{}", object, found.st_ino);
  };
  std::error_code none;
  if (major(of_path.st_dev) == 0) {
    // Such as NFS: its backing device in the kernel lives as long as the mount.
    return with_inode("/sys/class/bdi/" + device + "/");
  }
  // A file system on a device, such as /sys/fs/ext4/sda1: the kernel makes the folder, with a new
  // inode number, when it mounts the file system.
  const std::filesystem::path name =
      std::filesystem::canonical("/sys/dev/block/" + device, none).filename();
  if (none) return "";
  for (const std::string_view kind : {"ext4", "xfs", "f2fs"}) {
    const std::string found = with_inode(fmt::format("/sys/fs/{}/{}", kind, name.string()));
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace tickstack
