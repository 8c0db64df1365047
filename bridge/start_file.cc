#include "bridge/start_file.h"

#include <charconv>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/status.h"

namespace tickstack::bridge {
namespace {

constexpr uint64_t kStartFileBytesMax = uint64_t{16} << 20;

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

bool ReadShard(std::string_view line, StartFile& file) {
  const std::vector<std::string_view> words = WordsOf(line);
  constexpr size_t kWords = 3;
  if (words.size() != kWords || words[1].empty() || words[2].empty()) return false;
  file.shard = {std::string(words[1]), std::string(words[2])};
  return true;
}

bool ReadPartition(std::string_view line, StartFile& file) {
  const std::vector<std::string_view> words = WordsOf(line);
  const bool has_shard = file.shard != ShardId();
  const size_t expected = has_shard ? 7 : 6;
  int32_t number = 0;
  PartitionStart start;
  if (words.size() != expected || !ReadInteger(words[1], &number) ||
      !ReadInteger(words[2], &start.start) || !ReadInteger(words[4], &start.next_offset) ||
      !ReadInteger(words[5], &start.next_row) ||
      (has_shard && !ReadInteger(words[6], &start.next_number))) {
    return false;
  }
  if (words[3] != "-") {
    int64_t base = 0;
    if (!ReadInteger(words[3], &base)) return false;
    start.base = base;
  }
  return file.partitions.emplace(std::pair(std::string(words[0]), number), start).second;
}

}  // namespace

absl::StatusOr<StartFile> StartFile::Load(const std::string& path) {
  StartFile file;
  TS_ASSIGN_OR_RETURN(const bool exists, FileExists(path));
  if (!exists) return file;
  TS_ASSIGN_OR_RETURN(const ByteBuffer bytes, ReadWholeFile(path, kStartFileBytesMax));
  std::string_view text = AsText(bytes);
  constexpr std::string_view kCluster = "cluster ", kShard = "shard ";
  for (int line_number = 1; !text.empty(); ++line_number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool whole = end != std::string_view::npos;
    text = whole ? text.substr(end + 1) : "";
    if (line_number == 1 && whole && line.starts_with(kCluster)) {
      file.cluster = line.substr(kCluster.size());
    } else if (line_number == 2 && whole && line.starts_with(kShard) && ReadShard(line, file)) {
      continue;
    } else if (line_number == 1 || !whole || !ReadPartition(line, file)) {
      return DataLoss("{}:{}: expected `TOPIC PARTITION START BASE NEXT_OFFSET NEXT_ROW{}`", path,
                      line_number, file.shard == ShardId() ? "" : " NEXT_NUMBER");
    }
  }
  return file;
}

absl::Status StartFile::Save(const std::string& path) const {
  std::string text = fmt::format("cluster {}\n", cluster);
  const bool has_shard = shard != ShardId();
  if (has_shard) text += fmt::format("shard {} {}\n", shard.shard, shard.map);
  for (const auto& [where, start] : partitions) {
    text += fmt::format("{} {} {} {} {} {}", where.first, where.second, start.start,
                        start.base ? std::to_string(*start.base) : "-", start.next_offset,
                        start.next_row);
    if (has_shard) text += fmt::format(" {}", start.next_number);
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

}  // namespace tickstack::bridge
