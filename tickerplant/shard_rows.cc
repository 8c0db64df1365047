#include "tickerplant/shard_rows.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "base/status.h"
#include "tplog/tplog_format.h"

namespace tickstack::tickerplant {
namespace {

constexpr size_t kMapBytesMax = 4096;

// The content of the file; empty for a stack without shards.
std::string TextOf(const ShardId& id) {
  return id == ShardId() ? std::string() : fmt::format("{} {}\n", id.map, id.shard);
}

// Describes a content of the file.
std::string NameOf(std::string_view text) {
  if (text.empty()) return "no shards";
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return "an unknown map of shards";
  const std::string_view shard = text.substr(space + 1);
  return fmt::format("shard {} of the map {}", shard.substr(0, shard.find('\n')),
                     text.substr(0, space));
}

absl::StatusOr<std::string> ReadShardFile(const std::string& path) {
  const absl::StatusOr<ByteBuffer> found = ReadWholeFile(path, kMapBytesMax);
  if (absl::IsNotFound(found.status())) return std::string();
  TS_RETURN_IF_ERROR(found.status());
  return std::string(AsText(found->span()));
}

absl::Status HasOtherRows(const std::string& log_path, std::string_view found, const ShardId& id) {
  return FailedPrecondition(
      "{}: has rows of {}, expected {}, and its day has not ended: start with the [[shard]] "
      "sections of then, stop all feeds, end the day (tickstack eod, or wait for its end), stop, "
      "and change them",
      log_path, NameOf(found), NameOf(TextOf(id)));
}

absl::Status ReplaceText(const std::string& path, std::string_view text) {
  const std::string next = path + ".next";
  const std::string folder = path.substr(0, path.rfind('/'));
  TS_RETURN_IF_ERROR(CreateDirectories(folder));
  TS_ASSIGN_OR_RETURN(File file, File::Create(next));
  TS_RETURN_IF_ERROR(file.WriteAt(0, AsBytes(text)));
  TS_RETURN_IF_ERROR(file.SyncData());
  TS_RETURN_IF_ERROR(RenameReplacing(next, path));
  return SyncDirectory(folder);
}

absl::Status Remove(const std::string& path) {
  if (std::remove(path.c_str()) != 0) return ErrnoStatus(errno, path);
  return SyncDirectory(path.substr(0, path.rfind('/')));
}

}  // namespace

ShardRows::ShardRows(const ShardOptions& options, std::span<const Schema> schemas)
    : cache_(options.map), shard_(options.index), schemas_(schemas) {
  for (const Schema& schema : schemas) columns_.push_back(ShardColumnOf(schema));
}

absl::Status ShardRows::Check(size_t table, const BatchView& batch) {
  const std::vector<std::string>& shards = cache_.map().shards();
  if (columns_[table] < 0) {
    if (shard_ == 0) return absl::OkStatus();
    return InvalidArgument("shard: {} has no symbol column, so it belongs to shard {}",
                           schemas_[table].table, shards.front());
  }
  const ColumnView& column = batch.columns[static_cast<size_t>(columns_[table])];
  const std::byte *at = column.data.data(), *const end = at + column.data.size();
  for (size_t row = 0; row < column.rows; ++row) {
    const std::byte* const symbol = at;
    const size_t shard = cache_.ShardOfNext(at, end);
    if (shard != shard_) [[unlikely]] {
      return InvalidArgument("shard: {} belongs to shard {}", AsText(std::span(symbol, at - 1)),
                             shards[shard]);
    }
  }
  return absl::OkStatus();
}

std::string ShardFileOf(const std::string& log_directory, std::string_view log_name) {
  return fmt::format("{}/{}.shards", log_directory, log_name);
}

absl::StatusOr<bool> HasRows(const std::string& log_path) {
  const absl::StatusOr<File> log = File::OpenForReading(log_path);
  if (absl::IsNotFound(log.status())) return false;
  TS_RETURN_IF_ERROR(log.status());
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, log->Bytes());
  return bytes > tplog::kTplogHeaderBytes;
}

absl::Status SettleShard(const std::string& shard_path, const std::string& log_path, bool has_rows,
                         const ShardId& id) {
  TS_ASSIGN_OR_RETURN(const std::string found, ReadShardFile(shard_path));
  if (found == TextOf(id)) return absl::OkStatus();
  if (has_rows) return HasOtherRows(log_path, found, id);
  if (id == ShardId()) return Remove(shard_path);
  return ReplaceText(shard_path, TextOf(id));
}

absl::Status CheckShard(const std::string& shard_path, const std::string& log_path,
                        const ShardId& id, bool is_takeover) {
  TS_ASSIGN_OR_RETURN(const std::string found, ReadShardFile(shard_path));
  if (found == TextOf(id)) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const bool has_rows, HasRows(log_path));
  if (has_rows) return HasOtherRows(log_path, found, id);
  if (!is_takeover) return absl::OkStatus();
  return FailedPrecondition("{}: found {}, expected {}: a take-over keeps the map of shards",
                            shard_path, NameOf(found), NameOf(TextOf(id)));
}

}  // namespace tickstack::tickerplant
