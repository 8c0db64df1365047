#include "disk/archive_marker.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "disk/checksum_file.h"

namespace tickstack::disk {
namespace {

constexpr std::string_view kMarkerTag = "tickstack-archive 1";
constexpr uint64_t kMarkerBytesMax = uint64_t{16} << 20;
constexpr uint64_t kFileBytesMax = uint64_t{1} << 48;

// Removes the first word of a line, and returns it.
std::string_view TakeWord(std::string_view& line) {
  const size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  line = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  return word;
}

template <typename T>
std::optional<T> NumberIn(std::string_view text, int base) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A key consists of characters that a URL may have as they are.
bool IsPlainKey(std::string_view key) {
  return !key.empty() && key.front() != '/' && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  });
}

absl::StatusOr<ArchivedFile> ParseFileLine(std::string_view line) {
  const std::optional<uint64_t> bytes = NumberIn<uint64_t>(TakeWord(line), 10);
  const std::optional<uint32_t> crc = NumberIn<uint32_t>(TakeWord(line), 16);
  // Names with a dot are those of files that are always here.
  const bool is_name = !line.empty() && !line.starts_with('.') &&
                       line.find('/') == std::string_view::npos &&
                       line.find('\0') == std::string_view::npos;
  if (!bytes || *bytes > kFileBytesMax || !crc || !is_name) {
    return DataLoss("expected the size, the CRC32C and the name of a file");
  }
  return ArchivedFile{std::string(line), *bytes, *crc};
}

}  // namespace

std::optional<size_t> ArchiveMarker::Find(std::string_view name) const {
  const auto found = std::ranges::find(files, name, &ArchivedFile::name);
  if (found == files.end()) return std::nullopt;
  return static_cast<size_t>(found - files.begin());
}

std::string ArchiveMarker::KeyOf(size_t file, uint64_t offset) const {
  return fmt::format("{}/{}.{}", objects, file, offset / object_bytes);
}

uint64_t ArchiveMarker::bytes() const {
  uint64_t bytes = 0;
  for (const ArchivedFile& file : files) bytes += file.bytes;
  return bytes;
}

std::string EncodeArchiveMarker(const ArchiveMarker& marker) {
  std::string text = fmt::format("{}\nstore {}\nobjects {}\nobject_bytes {}\n", kMarkerTag,
                                 marker.store, marker.objects, marker.object_bytes);
  for (const ArchivedFile& file : marker.files) {
    text += fmt::format("file {} {:08x} {}\n", file.bytes, file.crc, file.name);
  }
  return text + fmt::format("end {:08x}\n", Crc32c(AsBytes(text)));
}

absl::StatusOr<ArchiveMarker> ParseArchiveMarker(std::string_view text) {
  ArchiveMarker marker;
  const std::string_view whole = text;
  for (size_t number = 1;; ++number) {
    const size_t line_at = whole.size() - text.size();
    const size_t newline = text.find('\n');
    if (newline == std::string_view::npos) {
      return DataLoss("line {}: the file ends here, without a line `end`", number);
    }
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline + 1);
    if (number == 1) {
      if (line != kMarkerTag) return DataLoss("line 1: expected `{}`", kMarkerTag);
      continue;
    }
    const std::string_view key = TakeWord(line);
    if (key == "store") {
      marker.store = line;
    } else if (key == "objects" && IsPlainKey(line)) {
      marker.objects = line;
    } else if (key == "object_bytes") {
      marker.object_bytes = NumberIn<uint64_t>(line, 10).value_or(0);
    } else if (key == "file") {
      absl::StatusOr<ArchivedFile> file = ParseFileLine(line);
      if (!file.ok()) return Annotate(file.status(), fmt::format("line {}", number));
      marker.files.push_back(*std::move(file));
    } else if (key == "end") {
      const uint32_t crc = Crc32c(AsBytes(whole.substr(0, line_at)));
      const std::optional<uint32_t> expected = NumberIn<uint32_t>(line, 16);
      if (!expected || *expected != crc || !text.empty()) {
        return DataLoss("line {}: the lines before have CRC32C {:08x}, expected {}", number, crc,
                        line);
      }
      break;
    } else {
      return DataLoss("line {}: expected store, objects, object_bytes, file or end", number);
    }
  }
  const bool is_whole = !marker.store.empty() && !marker.objects.empty() &&
                        marker.object_bytes > 0 && marker.object_bytes % kChecksumBlockBytes == 0;
  if (!is_whole) {
    return DataLoss(
        "line 2: expected a store, the beginning of keys, and a multiple of {} as the "
        "size of objects",
        kChecksumBlockBytes);
  }
  return marker;
}

absl::StatusOr<std::optional<ArchiveMarker>> ReadArchiveMarker(const std::string& directory,
                                                               std::string_view name) {
  const std::string path = fmt::format("{}/{}", directory, name);
  const absl::StatusOr<ByteBuffer> content = ReadWholeFile(path, kMarkerBytesMax);
  if (content.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TS_RETURN_IF_ERROR(content.status());
  absl::StatusOr<ArchiveMarker> marker = ParseArchiveMarker(AsText(content->span()));
  if (!marker.ok()) return Annotate(marker.status(), path);
  return *std::move(marker);
}

absl::Status CheckNotArchived(const std::string& table_directory, std::string_view what) {
  TS_ASSIGN_OR_RETURN(const bool is_archived,
                      FileExists(fmt::format("{}/{}", table_directory, kArchivedName)));
  if (!is_archived) return absl::OkStatus();
  return FailedPrecondition(
      "{}: archived: its columns are in an object store, and {} needs them here: fetch them with "
      "`tickstack hdb recall` first",
      table_directory, what);
}

absl::Status CheckNoneArchived(const std::string& partition, std::string_view what) {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(partition));
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_directory) continue;
    TS_RETURN_IF_ERROR(CheckNotArchived(partition + "/" + entry.name, what));
  }
  return absl::OkStatus();
}

}  // namespace tickstack::disk
