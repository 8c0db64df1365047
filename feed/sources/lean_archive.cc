#include "feed/sources/lean_archive.h"

#include <zip.h>

#include <cstring>

#include "base/status.h"

namespace tickstack::feed {

void LeanArchive::CloseZip::operator()(zip* archive) const { zip_discard(archive); }
void LeanArchive::CloseFile::operator()(zip_file* file) const { zip_fclose(file); }

LeanArchive::~LeanArchive() = default;

absl::StatusOr<std::unique_ptr<LeanArchive>> LeanArchive::Open(const std::string& path) {
  std::unique_ptr<LeanArchive> archive(new LeanArchive(path));
  int error = 0;
  archive->zip_.reset(zip_open(path.c_str(), ZIP_RDONLY, &error));
  if (archive->zip_ == nullptr) {
    zip_error_t why;
    zip_error_init_with_code(&why, error);
    const std::string text = zip_error_strerror(&why);
    zip_error_fini(&why);
    if (error == ZIP_ER_NOENT) return NotFound("{}: no such file", path);
    return DataLoss("{}: {}, expected a zip archive", path, text);
  }
  const zip_int64_t files = zip_get_num_entries(archive->zip_.get(), 0);
  if (files != 1) return DataLoss("{}: {} files in the archive, expected 1", path, files);
  archive->file_.reset(zip_fopen_index(archive->zip_.get(), 0, 0));
  if (archive->file_ == nullptr) {
    return DataLoss("{}: {}", path, zip_strerror(archive->zip_.get()));
  }
  return archive;
}

absl::StatusOr<std::optional<std::string_view>> LeanArchive::Next() {
  while (true) {
    const std::string_view unread(buffer_.data() + begin_, end_ - begin_);
    const size_t newline = unread.find('\n');
    if (newline == std::string_view::npos && !at_end_) {
      TS_RETURN_IF_ERROR(Fill());
      continue;
    }
    if (unread.empty()) return std::nullopt;
    std::string_view text = unread.substr(0, newline);
    begin_ += std::min(unread.size(), text.size() + 1);
    ++line_;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.size() > kLineBytesMax) {
      return DataLoss("{}: line {}: {} bytes, expected at most {}", path_, line_, text.size(),
                      kLineBytesMax);
    }
    if (!text.empty()) return text;
  }
}

// Moves the start of a line to the front and reads more after it.
absl::Status LeanArchive::Fill() {
  if (end_ - begin_ > kLineBytesMax) {
    return DataLoss("{}: line {}: over {} bytes without an end of line, expected at most that",
                    path_, line_ + 1, kLineBytesMax);
  }
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const zip_int64_t bytes = zip_fread(file_.get(), buffer_.data() + end_, buffer_.size() - end_);
  if (bytes < 0) {
    return DataLoss("{}: after line {}: {}", path_, line_, zip_file_strerror(file_.get()));
  }
  end_ += static_cast<size_t>(bytes);
  at_end_ = bytes == 0;
  return absl::OkStatus();
}

}  // namespace tickstack::feed
