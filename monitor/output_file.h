#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

#include "absl/status/status.h"

namespace tickstack::monitor {

// A file that is written during a run. It remembers its first error, after which it writes nothing.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);

  void Write(std::string_view text);
  // Gives the file the name `PATH.1`, in place of an earlier one, and begins a new file.
  void BeginAgain();

  size_t bytes() const { return bytes_; }  // Bytes of the current file.
  const absl::Status& status() const { return status_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void Open();
  void Failed(std::string_view call);

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
  size_t bytes_ = 0;
  absl::Status status_;
};

}  // namespace tickstack::monitor
