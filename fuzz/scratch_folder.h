#pragma once

// A folder for the files of one fuzzer process, in memory if possible. It is removed when the
// process exits normally.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

#include "base/check.h"
#include "base/file.h"

namespace tickstack {

class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = ::access("/dev/shm", W_OK) == 0
                ? "/dev/shm/ts_fuzz_XXXXXX"
                : (std::filesystem::temp_directory_path() / "ts_fuzz_XXXXXX").string();
    TS_CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // Empties the folder, writes `head` and `bytes` to a file, and returns its path.
  std::string Write(const std::string& name, std::span<const std::byte> bytes,
                    std::span<const std::byte> head = {}) const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      std::filesystem::remove(entry.path());
    }
    return Add(name, bytes, head);
  }
  // Writes a file in the same way, but without emptying the folder.
  std::string Add(const std::string& name, std::span<const std::byte> bytes,
                  std::span<const std::byte> head = {}) const {
    const std::string path = path_ + "/" + name;
    File file = File::OpenOrCreate(path).value();
    TS_CHECK(file.WriteAt(0, head).ok() && file.WriteAt(head.size(), bytes).ok());
    return path;
  }

 private:
  std::string path_;
};

}  // namespace tickstack
