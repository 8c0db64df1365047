// Reads an index of any bytes beside an intact log. So that the fuzzer gets past the checksums, an
// input whose first byte is odd is a run of records without checksums:
//
//   1 kind  1 detail  1 bytes of the payload  payload
//
// It must not crash, and: a repaired log has no problems, a replay returns its messages or an
// error, and opening it for writing loses no message.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "fuzz/scratch_folder.h"
#include "tplog/tplog_check.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_reader.h"
#include "tplog/tplog_repair.h"
#include "tplog/tplog_writer.h"

namespace tickstack::tplog {
namespace {

constexpr uint64_t kMessages = 3;
constexpr size_t kMessageBytes = 28;

// Three messages (`upd;`t;enlist 5).
ByteBuffer Messages() {
  ByteBuffer bytes;
  for (uint64_t i = 0; i < kMessages; ++i) {
    bytes.Append(std::string_view("\0\0\3\0\0\0\xf5upd\0\xf5t\0\7\0\1\0\0\0\5\0\0\0\0\0\0\0",
                                  kMessageBytes));
  }
  return bytes;
}

void AppendRecord(uint8_t kind, uint8_t detail, std::span<const std::byte> payload,
                  ByteBuffer& out) {
  ByteBuffer rest;
  rest.AppendLittle(static_cast<uint16_t>(kRecordHeadBytes + payload.size()));
  rest.AppendLittle(kind);
  rest.AppendLittle(detail);
  rest.Append(payload);
  out.AppendLittle(Crc32c(rest));
  out.Append(rest);
}

// Corrects the checksum in a block record, so that block and record agree if the fuzzer finds
// fitting lengths.
void FixChecksum(std::span<const std::byte> log_tail, uint8_t kind, ByteBuffer& payload) {
  if (kind != 2 && kind != 3) return;
  if (payload.size() < 40) return;
  const auto offset = LoadLittle<uint64_t>(payload.data());
  const auto bytes = LoadLittle<uint32_t>(payload.data() + 32);
  if (offset < kTplogHeaderBytes || offset > 1000) return;
  const uint64_t begin = offset - kTplogHeaderBytes;
  if (begin > log_tail.size() || bytes > log_tail.size() - begin) return;
  const uint32_t crc = Crc32c(log_tail.subspan(begin, bytes));
  std::memcpy(payload.data() + 28, &crc, sizeof(crc));
}

ByteBuffer MakeIndex(std::span<const std::byte> data, std::span<const std::byte> log_tail) {
  if (data.empty() || (data[0] & std::byte{1}) == std::byte{0}) return ByteBuffer(data);
  ByteBuffer index;
  AppendIndexHeader(index);
  for (data = data.subspan(1); data.size() >= 3;) {
    const auto kind = static_cast<uint8_t>(data[0]);
    const size_t bytes = std::min(static_cast<size_t>(data[2]), data.size() - 3);
    ByteBuffer payload(data.subspan(3, bytes));
    FixChecksum(log_tail, kind, payload);
    AppendRecord(kind, static_cast<uint8_t>(data[1]), payload, index);
    data = data.subspan(3 + bytes);
  }
  return index;
}

void Replay(const std::string& path) {
  const auto reader = TplogReader::Open(path);
  if (!reader.ok()) return;
  for (uint64_t seq = 0;; ++seq) {
    const auto message = (*reader)->Next();
    if (!message.ok() || !message->has_value()) break;
    TS_CHECK((*message)->seq == seq && (*message)->body.size() == kMessageBytes);
    TS_CHECK((*message)->offset == kTplogHeaderBytes + seq * kMessageBytes);
  }
  for (const uint64_t seq : {2u, 0u, 1u}) {
    if (!(*reader)->Seek(seq).ok()) continue;
    TS_CHECK((*reader)->next_seq() == seq);
  }
}

void Run(std::span<const std::byte> data) {
  static const ScratchFolder folder;
  static const ByteBuffer messages = Messages();
  const ByteBuffer index = MakeIndex(data, messages);
  const std::string path = folder.Write("log", messages, kTplogHeader);
  folder.Add("log.idx", index);
  Replay(path);
  const TplogReport found = CheckTplog(path).value();
  TplogRepairOptions options;
  options.skip_damaged = true;
  const auto repaired = RepairTplog(path, options);
  if (repaired.ok()) {
    const std::string mended = repaired->repaired_path.empty() ? path : repaired->repaired_path;
    TS_CHECK(CheckTplog(mended)->problem_count == 0);
    TS_CHECK(repaired->totals.messages <= kMessages);
  }
  folder.Write("log", messages, kTplogHeader);
  folder.Add("log.idx", index);
  const auto writer = TplogWriter::Open(path, {});
  if (found.Has(TplogProblem::Kind::kIndexDamaged) || !found.damaged.empty()) return;
  // The record that is mended may contradict those before it.
  if (found.Has(TplogProblem::Kind::kFlippedIndex) && !writer.ok()) return;
  TS_CHECK(writer.ok() && (*writer)->totals().messages == kMessages);
}

}  // namespace
}  // namespace tickstack::tplog

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::tplog::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
