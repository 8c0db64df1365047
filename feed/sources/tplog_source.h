#pragma once

// A tickerplant log as a source. Each logged message is published again as one message, its rows
// and their times unchanged.
//
// Messages that are not upds, such as an end of day, are not published; Describe() gives their
// number. With a speed, a message is due at the first time in its first column, if that is a
// timestamp or timespan. Without a speed, and for other columns, it is due immediately.

#include <optional>

#include "base/byte_buffer.h"
#include "feed/sources/source_options.h"
#include "tplog/tplog_reader.h"
#include "wire/upd.h"

namespace tickstack::feed {

struct TplogOptions final : SourceOptions {
  std::vector<SourceOption> List() override;
  absl::StatusOr<std::unique_ptr<Source>> Open() const override;
  std::string RowsName() const override;

  std::string path;  // The log.
  double speed = 0;  // 1 is the original speed; 0: as fast as possible.
};

class TplogSource final : public Source {
 public:
  // Reads the whole log once, to learn its tables and check that it can be read. kNotFound;
  // kDataLoss; kInvalidArgument.
  static absl::StatusOr<std::unique_ptr<TplogSource>> Create(const TplogOptions& options);

  void Start(int64_t now_ns) override;
  void MoveClock(int64_t ns) override { start_ns_ += ns; }
  absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) override;
  int64_t next_due_ns() const override;
  // Reads the log from the start: O(rows done). A message that is partly done is returned whole.
  absl::Status Rewind(const NameMap<int64_t>& rows_done) override;
  const std::vector<std::string>& tables() const override { return tables_; }
  std::string Describe() const override;

 private:
  explicit TplogSource(const TplogOptions& options) : path_(options.path), speed_(options.speed) {}
  absl::Status Advance();
  int64_t DueNs(int64_t now_ns) const;

  const std::string path_;
  const double speed_;  // 0: every message is due immediately.
  std::unique_ptr<tplog::TplogReader> reader_;
  wire::UpdDecoder decoder_;
  std::vector<std::string> tables_;
  int64_t messages_ = 0;
  int64_t messages_skipped_ = 0;

  int64_t start_ns_ = 0;                  // When the message of start_time_ns_ was due.
  std::optional<int64_t> start_time_ns_;  // nullopt: no message had a time yet.
  NameMap<int64_t> rows_read_;            // By table, up to and including next_.
  NameMap<int64_t> rows_done_;            // Messages whose rows are all below it are not returned.
  std::optional<wire::UpdView> next_;     // nullopt: at the end.
  std::optional<int64_t> next_time_ns_;   // Time of its first row.
  absl::Status error_;                    // Error of reading ahead; reported when it is reached.
  std::string table_;                     // Table of batch_.
  ByteBuffer data_;                       // Data of batch_.
  FeedBatch batch_;
};

}  // namespace tickstack::feed
