#include "bridge/start_file.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"

namespace tickstack::bridge {
namespace {

constexpr uint64_t kStartFileBytesMax = uint64_t{16} << 20;
constexpr std::string_view kStartFileEnd = ".starts";

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = line.find(' ');
    words.push_back(line.substr(0, end));
    line = end == std::string_view::npos ? "" : line.substr(end + 1);
  }
  return words;
}

template <typename T>
bool ReadInteger(std::string_view text, T* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number >= 0;
}

bool ReadMap(std::string_view line, StartFile& file) {
  const std::vector<std::string_view> words = WordsOf(line);
  constexpr size_t kWithoutShard = 2, kWithShard = 4;
  if (words.size() != kWithoutShard && words.size() != kWithShard) return false;
  if (words.size() == kWithShard) file.shard = {std::string(words[2]), std::string(words[3])};
  return ReadInteger(words[1], &file.map_number);
}

bool ReadPlace(std::span<const std::string_view> words, Place* place) {
  return ReadInteger(words[0], &place->offset) && ReadInteger(words[1], &place->row) &&
         ReadInteger(words[2], &place->count);
}

bool ReadPartition(std::string_view line, StartFile& file) {
  std::vector<std::string_view> words = WordsOf(line);
  constexpr size_t kWordsBefore = 6, kNewest = 4, kOlder = 7, kWords = 10;
  // Before there were shards, a line had the offset and the row of the newest place only.
  if (words.size() == kWordsBefore) words.resize(kWords, "0");
  int32_t number = 0;
  PartitionStart start;
  if (words.size() != kWords || !ReadInteger(words[1], &number) ||
      !ReadInteger(words[2], &start.start) ||
      !ReadPlace(std::span(words).subspan(kNewest, 3), &start.newest) ||
      !ReadPlace(std::span(words).subspan(kOlder, 3), &start.older)) {
    return false;
  }
  if (words[3] != "-") {
    int64_t base = 0;
    if (!ReadInteger(words[3], &base)) return false;
    start.base = base;
  }
  return file.partitions.emplace(std::pair(std::string(words[0]), number), start).second;
}

// Returns the other start files in the directory of `path`.
absl::StatusOr<std::vector<std::string>> StartFilesBeside(const std::string& path) {
  std::vector<std::string> paths;
  const std::string folder(DirectoryOf(path));
  TS_ASSIGN_OR_RETURN(const bool exists, FileExists(folder));
  if (!exists) return paths;
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(folder));
  for (const DirectoryEntry& entry : entries) {
    std::string each = fmt::format("{}/{}", folder, entry.name);
    if (entry.is_file && entry.name.ends_with(kStartFileEnd) && each != path) {
      paths.push_back(std::move(each));
    }
  }
  return paths;
}

// A topic is PREFIX.TABLE.
bool HasTopicOf(const StartFile& file, std::string_view prefix) {
  return std::ranges::any_of(file.partitions, [prefix](const auto& each) {
    const std::string_view topic = each.first.first;
    return topic.starts_with(prefix) && topic.substr(prefix.size()).starts_with('.') &&
           topic.find('.', prefix.size() + 1) == std::string_view::npos;
  });
}

}  // namespace

absl::StatusOr<StartFile> StartFile::Load(const std::string& path) {
  StartFile file;
  TS_ASSIGN_OR_RETURN(const bool exists, FileExists(path));
  if (!exists) return file;
  TS_ASSIGN_OR_RETURN(const ByteBuffer bytes, ReadWholeFile(path, kStartFileBytesMax));
  std::string_view text = AsText(bytes);
  constexpr std::string_view kCluster = "cluster ", kMap = "map ";
  for (int line_number = 1; !text.empty(); ++line_number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool whole = end != std::string_view::npos;
    text = whole ? text.substr(end + 1) : "";
    if (line_number == 1 && whole && line.starts_with(kCluster)) {
      file.cluster = line.substr(kCluster.size());
    } else if (line_number == 2 && whole && line.starts_with(kMap) && ReadMap(line, file)) {
      continue;
    } else if (line_number == 1 || !whole || !ReadPartition(line, file)) {
      return DataLoss(
          "{}:{}: expected `TOPIC PARTITION START BASE OFFSET ROW COUNT OFFSET ROW COUNT`", path,
          line_number);
    }
  }
  return file;
}

absl::Status StartFile::Save(const std::string& path) const {
  std::string text = fmt::format("cluster {}\n", cluster);
  if (shard != ShardId()) {
    text += fmt::format("map {} {} {}\n", map_number, shard.shard, shard.map);
  } else if (map_number > 0) {
    text += fmt::format("map {}\n", map_number);
  }
  for (const auto& [where, start] : partitions) {
    text += fmt::format("{} {} {} {}", where.first, where.second, start.start,
                        start.base ? std::to_string(*start.base) : "-");
    for (const Place& place : {start.newest, start.older}) {
      text += fmt::format(" {} {} {}", place.offset, place.row, place.count);
    }
    text += '\n';
  }
  TS_RETURN_IF_ERROR(CreateDirectories(DirectoryOf(path)));
  const std::string written = path + ".new";
  {
    TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(written));
    TS_RETURN_IF_ERROR(file.Truncate(0));
    TS_RETURN_IF_ERROR(file.WriteAt(0, AsBytes(text)));
    TS_RETURN_IF_ERROR(file.SyncData());
  }
  return RenameReplacing(written, path);
}

absl::Status StartFile::EnterMap(const std::string& path, std::string_view prefix,
                                 const ShardId& own, bool says_where) {
  const bool is_new = partitions.empty();
  if (!is_new && shard != own) {
    return FailedPrecondition(
        "{} is about {}, this bridge is of {}: give this bridge another name, and say in `from` "
        "where it begins",
        path, Describe(shard), Describe(own));
  }
  int64_t number = 0, other_number = -1;
  std::string other_path;
  ShardId other;
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> paths, StartFilesBeside(path));
  for (const std::string& each : paths) {
    TS_ASSIGN_OR_RETURN(const StartFile file, Load(each));
    if (!HasTopicOf(file, prefix)) continue;
    if (file.shard.map == own.map) {
      number = std::max(number, file.map_number);
    } else if (file.map_number > other_number) {
      other_number = file.map_number;
      other_path = each;
      other = file.shard;
    }
  }
  if (!is_new && other_number > map_number) {
    return FailedPrecondition(
        "{} has read prefix {} since, as {}, and this bridge is of {}: give this bridge a name "
        "that none has had, and say in `from` where it begins",
        other_path, prefix, Describe(other), Describe(own));
  }
  if (is_new && other_number >= 0 && !says_where) {
    return FailedPrecondition(
        "{} has read prefix {} as {}, and this bridge is of {}, so it would publish rows again: "
        "say in `from` where it begins",
        other_path, prefix, Describe(other), Describe(own));
  }
  shard = own;
  if (is_new) map_number = std::max(number, other_number + 1);
  return absl::OkStatus();
}

}  // namespace tickstack::bridge
