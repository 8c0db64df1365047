#include "disk/segment_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string_view>
#include <utility>

#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/status.h"

namespace tickstack::disk {
namespace {

constexpr uint64_t kSegmentListBytesMax = uint64_t{1} << 20;

struct SeenLine {
  size_t number;  // From 1.
  std::string text;
};

// Identifies the directory that a path leads to, whatever its name; nullopt: none.
using DirectoryId = std::pair<dev_t, ino_t>;
absl::StatusOr<std::optional<DirectoryId>> IdOfDirectory(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return Annotate(ErrnoStatus(errno, "stat"), path);
  }
  if (!S_ISDIR(status.st_mode)) return std::nullopt;
  return DirectoryId(status.st_dev, status.st_ino);
}

}  // namespace

absl::StatusOr<std::optional<std::vector<SegmentLine>>> ReadSegmentList(
    const std::string& database) {
  const std::string path = database + "/par.txt";
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return Annotate(ErrnoStatus(errno, "lstat"), path);
  }
  TS_ASSIGN_OR_RETURN(const ByteBuffer bytes, ReadWholeFile(path, kSegmentListBytesMax));
  std::vector<SegmentLine> lines;
  std::map<DirectoryId, SeenLine> seen;
  std::string_view rest = AsText(bytes.span());
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
    while (text.size() > 1 && text.back() == '/') text.remove_suffix(1);
    if (text.empty()) continue;
    SegmentLine& line = lines.emplace_back();
    line.path = text.starts_with('/') ? std::string(text) : fmt::format("{}/{}", database, text);
    TS_ASSIGN_OR_RETURN(const std::optional<DirectoryId> id, IdOfDirectory(line.path));
    if (!id) {
      line.status = NotFound("{}: {}: no such directory", path, line.path);
      continue;
    }
    const auto [first, is_new] = seen.try_emplace(*id, SeenLine{number, std::string(text)});
    if (is_new) continue;
    line.status = InvalidArgument(
        "{}: line {} ({}) and line {} ({}) are the same directory, whose rows would count twice",
        path, first->second.number, first->second.text, number, text);
  }
  return lines;
}

}  // namespace tickstack::disk
