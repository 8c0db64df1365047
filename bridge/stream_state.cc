#include "bridge/stream_state.h"

#include <utility>

#include "base/status.h"
#include "table/record.h"

namespace tickstack::bridge {
namespace {

constexpr uint8_t kStateVersion = 2;
constexpr uint8_t kVersionWithoutMessage = 1;

bool ReadKnownMessage(RecordReader& record, StreamState& state) {
  uint8_t has_message = 0;
  tplog::KnownMessage known;
  if (!record.Read(&has_message) || !record.Read(&known.seq) || !record.Read(&known.crc)) {
    return false;
  }
  if (has_message != 0) state.known = known;
  return true;
}

bool ReadState(RecordReader& record, uint8_t version, StreamState& state) {
  uint8_t has_crc = 0, ended = 0;
  uint32_t crc = 0, tables = 0;
  if (!record.ReadText(&state.writer) || !record.Read(&state.batch) ||
      !record.ReadText(&state.log.path) || !record.Read(&has_crc) || !record.Read(&crc) ||
      !record.Read(&state.log.cuts) || !record.Read(&ended) || !state.position.Load(record) ||
      !record.Read(&tables)) {
    return false;
  }
  if (version != kVersionWithoutMessage && !ReadKnownMessage(record, state)) return false;
  if (has_crc != 0) state.log.first_message_crc = crc;
  state.log_ended = ended != 0;
  for (uint32_t i = 0; i < tables; ++i) {
    std::string name;
    StreamState::Table table;
    uint32_t partitions = 0;
    if (!record.ReadText(&name) || !record.Read(&table.rows_of_log) || !record.Read(&partitions)) {
      return false;
    }
    for (uint32_t k = 0; k < partitions; ++k) {
      int64_t row = 0;
      if (!record.Read(&row)) return false;
      table.next_row.push_back(row);
    }
    state.tables.insert_or_assign(std::move(name), std::move(table));
  }
  return record.AtEnd();
}

}  // namespace

void SaveState(const StreamState& state, ByteBuffer& record) {
  record.AppendLittle(kStateVersion);
  AppendBytes(AsBytes(state.writer), record);
  record.AppendLittle(state.batch);
  AppendBytes(AsBytes(state.log.path), record);
  record.AppendLittle(static_cast<uint8_t>(state.log.first_message_crc ? 1 : 0));
  record.AppendLittle(state.log.first_message_crc.value_or(0));
  record.AppendLittle(state.log.cuts);
  record.AppendLittle(static_cast<uint8_t>(state.log_ended ? 1 : 0));
  state.position.Save(record);
  record.AppendLittle(static_cast<uint32_t>(state.tables.size()));
  record.AppendLittle(static_cast<uint8_t>(state.known ? 1 : 0));
  const tplog::KnownMessage known = state.known.value_or(tplog::KnownMessage());
  record.AppendLittle(known.seq);
  record.AppendLittle(known.crc);
  for (const auto& [name, table] : state.tables) {
    AppendBytes(AsBytes(name), record);
    record.AppendLittle(table.rows_of_log);
    record.AppendLittle(static_cast<uint32_t>(table.next_row.size()));
    for (const int64_t row : table.next_row) record.AppendLittle(row);
  }
}

absl::StatusOr<StreamState> LoadState(std::span<const std::byte> record) {
  RecordReader reader(record);
  uint8_t version = 0;
  if (!reader.Read(&version)) return DataLoss("a position of 0 bytes");
  if (version != kStateVersion && version != kVersionWithoutMessage) {
    return DataLoss("a position of version {}, this program reads versions up to {}", version,
                    kStateVersion);
  }
  StreamState state;
  if (!ReadState(reader, version, state)) {
    return DataLoss("a position of {} bytes, which are not a whole one", record.size());
  }
  return state;
}

}  // namespace tickstack::bridge
