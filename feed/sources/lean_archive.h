#pragma once

// Reads the lines of the only CSV file in a zip archive, inflating them piece by piece, so the
// memory does not depend on the archive's size. libzip does the work and checks the CRC at the end.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

struct zip;
struct zip_file;

namespace tickstack::feed {

// Threads: one owner. Memory: 64 KiB and what libzip needs for one inflater (about 50 KiB).
class LeanArchive {
 public:
  static constexpr size_t kLineBytesMax = 4'096;

  // kNotFound: no such file. kDataLoss: not a zip archive, or not exactly one file in it.
  static absl::StatusOr<std::unique_ptr<LeanArchive>> Open(const std::string& path);
  ~LeanArchive();

  // Returns the next line without its end (LF or CRLF), valid until the next call; nullopt at the
  // end. Skips empty lines. kDataLoss: a damaged archive, or a line of more than kLineBytesMax
  // bytes, with the archive and the line's number.
  absl::StatusOr<std::optional<std::string_view>> Next();

  const std::string& path() const { return path_; }
  int64_t line() const { return line_; }  // Number, from 1, of the line that Next returned.

 private:
  struct CloseZip {
    void operator()(zip* archive) const;
  };
  struct CloseFile {
    void operator()(zip_file* file) const;
  };

  explicit LeanArchive(std::string path) : path_(std::move(path)), buffer_(size_t{64} << 10) {}
  absl::Status Fill();

  std::string path_;
  std::unique_ptr<zip, CloseZip> zip_;
  std::unique_ptr<zip_file, CloseFile> file_;  // Closed before zip_.
  std::vector<char> buffer_;
  size_t begin_ = 0;  // [begin_, end_) of buffer_ was read, and not returned yet.
  size_t end_ = 0;
  bool at_end_ = false;
  int64_t line_ = 0;
};

}  // namespace tickstack::feed
