#include "tickerplant/shard_rows.h"

#include <cstring>

#include "base/file.h"
#include "base/status.h"
#include "wire/tplog_format.h"

namespace tickstack::tickerplant {
namespace {

constexpr size_t kMapBytesMax = 64;

absl::StatusOr<bool> HasRows(const std::string& log_path) {
  const absl::StatusOr<File> log = File::OpenForReading(log_path);
  if (absl::IsNotFound(log.status())) return false;
  TS_RETURN_IF_ERROR(log.status());
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, log->Bytes());
  return bytes > wire::kTplogHeaderBytes;
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
  const char* name = reinterpret_cast<const char*>(column.data.data());
  for (size_t row = 0; row < column.rows; ++row) {
    const std::string_view symbol(name);
    const size_t shard = cache_.ShardOf(symbol);
    if (shard != shard_) [[unlikely]] {
      return InvalidArgument("shard: {} belongs to shard {}", symbol, shards[shard]);
    }
    name += symbol.size() + 1;
  }
  return absl::OkStatus();
}

absl::Status SettleShardMap(const std::string& map_path, const std::string& log_path,
                            const ShardMap& map) {
  const std::string text = fmt::format("{:016x}\n", map.digest());
  const absl::StatusOr<ByteBuffer> found = ReadWholeFile(map_path, kMapBytesMax);
  if (!found.ok() && !absl::IsNotFound(found.status())) return found.status();
  if (found.ok() && AsText(found->span()) == text) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const bool has_rows, HasRows(log_path));
  if (!has_rows) return ReplaceText(map_path, text);
  return FailedPrecondition(
      "{}: has rows of {}, and its day has not ended: start with the [[shard]] sections of then, "
      "end the day (tickstack eod), stop, and change them",
      log_path, found.ok() ? "another map of shards" : "a stack without shards");
}

}  // namespace tickstack::tickerplant
