// Replays a log of any bytes, seeks in it, checks it, opens it for writing, appends to it and
// repairs it. It must not crash, and: all of these agree on its contents, and a log that was
// repaired or opened for writing has no problems afterwards.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status.h"
#include "fuzz/scratch_folder.h"
#include "tplog/tplog_check.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_reader.h"
#include "tplog/tplog_repair.h"
#include "tplog/tplog_writer.h"

namespace tickstack::tplog {
namespace {

uint64_t Replay(const std::string& path, bool use_index) {
  TplogReaderOptions options;
  options.use_index = use_index;
  const auto reader = TplogReader::Open(path, options).value();
  uint64_t offset = kTplogHeaderBytes;
  uint64_t messages = 0;
  bool is_damaged = false;
  while (true) {
    const auto message = reader->Next();
    is_damaged = !message.ok();
    TS_CHECK(!is_damaged || absl::IsDataLoss(message.status()));
    if (is_damaged || !message->has_value()) break;
    TS_CHECK((*message)->seq == messages && (*message)->offset == offset);
    offset += (*message)->body.size();
    ++messages;
  }
  TS_CHECK(is_damaged ||
           offset + reader->torn_bytes() == File::OpenForReading(path)->Bytes().value());
  for (const uint64_t seq : {messages, messages / 2, uint64_t{0}}) {
    TS_CHECK(reader->Seek(seq).ok());
    TS_CHECK(reader->ReadRange(seq, messages, 100).value().empty() == (seq == messages));
  }
  TS_CHECK(!reader->Seek(messages + 1).ok());
  return messages;
}

void Append(TplogWriter& writer) {
  static const ByteBuffer body = [] {
    ByteBuffer bytes;
    bytes.Append(std::string_view("\0\0\3\0\0\0\xf5upd\0\xf5t\0\7\0\1\0\0\0\5\0\0\0\0\0\0\0", 28));
    return bytes;
  }();
  const std::span<const std::byte> segments[] = {body};
  const TplogBlock::Rows rows[] = {{"t", 1}};
  TS_CHECK(writer.Append({segments, 1, 0, "fuzz", rows}).ok());
}

void Run(std::span<const std::byte> data) {
  static const ScratchFolder folder;
  const std::string path = folder.Write("log", data, kTplogHeader);
  const uint64_t messages = Replay(path, false);
  const TplogReport found = CheckTplog(path).value();
  // After damage, the check continues where a reader stops.
  TS_CHECK(found.damaged.empty() ? found.totals.messages == messages
                                 : found.totals.messages > messages);
  {
    auto writer = TplogWriter::Open(path, {});
    TS_CHECK(writer.ok() == found.damaged.empty());
    if (!writer.ok()) {
      TS_CHECK(RepairTplog(path, {true}).ok());
      TS_CHECK(CheckTplog(path + ".repaired")->problem_count == 0);
      return;
    }
    TS_CHECK((*writer)->totals().messages == messages);
    TS_CHECK((*writer)->totals().rows == found.totals.rows);
    Append(**writer);
  }
  TS_CHECK(CheckTplog(path)->problem_count == 0);
  TS_CHECK(Replay(path, true) == messages + 1);
  TS_CHECK(TplogWriter::Open(path, {}).value()->totals().feed_rows.at("fuzz").at("t") == 1);
}

}  // namespace
}  // namespace tickstack::tplog

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tickstack::tplog::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
