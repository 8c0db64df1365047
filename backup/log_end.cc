#include "backup/log_end.h"

#include <optional>

#include "backup/file_copy.h"
#include "base/file.h"
#include "base/status.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_reader.h"

namespace tickstack::backup {
namespace {

// Follows the records of `index` while the log has what they describe.
absl::Status Follow(const std::string& index, uint64_t log_bytes, LogEnd& end) {
  TS_ASSIGN_OR_RETURN(tplog::TplogIndexReader reader, tplog::TplogIndexReader::Open(index));
  end = {.log_bytes = tplog::kTplogHeaderBytes,
         .index_bytes = reader.position(),
         .messages = 0,
         .is_indexed = true,
         .damage = ""};
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<tplog::TplogIndexReader::Record> record, reader.Next());
    if (!record) return absl::OkStatus();
    if (record->kind != tplog::RecordKind::kProgress) {
      if (record->block.end_offset() > log_bytes) return absl::OkStatus();
      end.log_bytes = record->block.end_offset();
      end.messages = record->block.end_seq();
    }
    end.index_bytes = record->end;
  }
}

}  // namespace

absl::StatusOr<LogEnd> FindLogEnd(const std::string& log) {
  TS_ASSIGN_OR_RETURN(const FileFacts facts, FactsOf(log));
  LogEnd end{.log_bytes = facts.bytes};
  const std::string index = tplog::TplogIndexPath(log);
  // A log without its whole header is one that is being created.
  TS_ASSIGN_OR_RETURN(const bool has_index, FileExists(index));
  if (!has_index || facts.bytes < tplog::kTplogHeaderBytes) return end;
  absl::Status followed = Follow(index, facts.bytes, end);
  if (followed.ok()) return end;
  if (!absl::IsDataLoss(followed)) return followed;
  TS_ASSIGN_OR_RETURN(const FileFacts of_index, FactsOf(index));
  end.log_bytes = facts.bytes;
  end.index_bytes = of_index.bytes;
  end.is_indexed = true;
  end.damage = Message(followed);
  return end;
}

std::string FindDamage(const std::string& log, uint64_t first) {
  const auto read = [&]() -> absl::Status {
    TS_ASSIGN_OR_RETURN(const std::unique_ptr<tplog::TplogReader> reader,
                        tplog::TplogReader::Open(log));
    TS_RETURN_IF_ERROR(reader->Seek(first));
    while (true) {
      TS_ASSIGN_OR_RETURN(const std::optional<tplog::TplogMessage> message, reader->Next());
      if (!message) break;
    }
    if (reader->torn_bytes() == 0) return absl::OkStatus();
    return DataLoss("{}: {} bytes at the end are no whole message", log, reader->torn_bytes());
  };
  return std::string(Message(read()));
}

}  // namespace tickstack::backup
