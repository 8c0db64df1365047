#include "monitor/output_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "base/status.h"

namespace tickstack::monitor {

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) { Open(); }

void OutputFile::Open() {
  bytes_ = 0;
  file_.reset(std::fopen(path_.c_str(), "w"));
  if (file_ == nullptr) Failed("open");
}

void OutputFile::Write(std::string_view text) {
  if (!status_.ok()) return;
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
      std::fflush(file_.get()) != 0) {
    return Failed("write");
  }
  bytes_ += text.size();
}

void OutputFile::BeginAgain() {
  if (!status_.ok()) return;
  if (std::rename(path_.c_str(), (path_.string() + ".1").c_str()) != 0) return Failed("rename");
  Open();
}

void OutputFile::Failed(std::string_view call) {
  status_ = ErrnoStatus(errno, fmt::format("{}: {}", path_.string(), call));
}

}  // namespace tickstack::monitor
