#pragma once

// A bridge from a tickerplant to Kafka: asks the tickerplant for its tables and its logs, opens the
// topics, reads the rest of logs that the tickerplant has left meanwhile, and subscribes.
//
//   asking -> opening -> (reading earlier logs) -> subscribed
//      ^-- another log, other tables, or a producer that ended --'
//
// A log is recognised by its day and its content: the first message, and one up to which the rows
// are in Kafka. Its path may be that of another member of a cluster. All logs are those of the
// tickerplant that answers, and are read from there: a file at that path here may be the log of a
// member that was lost, which lacks rows.
//
// A tickerplant that does not have the log whose rows are in Kafka is that of another stack, and is
// refused.
//
// What cannot be continued is state `failed`, with an error that says what to do. The process stays
// up and not ready. It ends only if another process writes under its prefix.
//
// Threads: everything runs on the loop's thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "bridge/batch_writer.h"
#include "bridge/exporter.h"
#include "bridge/topic_writer.h"
#include "table/value.h"
#include "tplog/leader_epoch.h"
#include "tplog/log_piece.h"
#include "tplog/subscriber.h"
#include "wire/client.h"
#include "wire/event_loop.h"

namespace tickstack::bridge {

struct ExportOptions {
  tplog::SubscriberOptions subscriber;  // Its `tables` are set by the service.
  Exporter::Options exporter;
  TopicWriterOptions writer;
  int64_t linger_ns = 1'000'000;  // Longest time that rows wait for others while Kafka is idle.
  BatchWriter::Open open_writer;  // Opens what writes batches (default: a TopicWriter).
};

enum class ExportState : uint8_t { kAsking, kOpening, kReading, kSubscribed, kFailed };
std::string_view NameOf(ExportState state);

class ExportService final : public wire::ClientHandler {
 public:
  ExportService(wire::EventLoop& loop, ExportOptions options);
  ~ExportService() override;

  // Returns the answer to `.bridge.stats[]`; see bridge_metrics.cc.
  Value Stats() const;
  // Not OK: another process writes under the prefix, so this one must end.
  const absl::Status& ended() const { return ended_; }
  ExportState state() const { return state_; }
  const TopicWriterCounters& written() const { return written_; }
  const absl::Status& error() const { return error_; }
  const Exporter& exporter() const { return exporter_; }

  // wire::ClientHandler, of the connection for questions:
  void OnConnected(wire::Connection& connection) override;
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override;
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) override;

 private:
  void Begin();
  void Restart(std::string_view why);
  void AskEpoch();
  void AskTables();
  void AskSchemas(const Value& names);
  void AskLogs();
  void AskFirstMessage();
  bool IsExported(std::string_view table) const;
  void OpenTopics();
  void CreateTopics();
  void OnOpened(OpenedTopics opened);
  absl::Status Resume(StreamState state);
  absl::Status ListEarlierLogs(StreamState& state);
  void AskPiece(uint64_t from, int64_t bytes, std::function<void(const tplog::LogPiece&)> done);
  void CheckEarlierLog();
  void CheckKnownMessage();
  absl::Status CheckCuts(const std::vector<uint64_t>& cuts) const;
  void ReadEarlierLog();
  void EndEarlierLog();
  void EnterNextLog();
  void Subscribe();
  void AskKnownMessage();
  void HandOver();
  void Fail(absl::Status why);
  void Later(void (*next)(ExportService&));
  void Ask(const Value& request, std::function<void(absl::StatusOr<Value>)> done);

  wire::EventLoop& loop_;
  const ExportOptions options_;
  Exporter exporter_;
  TopicWriterCounters written_;
  ExportState state_ = ExportState::kAsking;
  absl::Status error_;
  absl::Status ended_;
  int64_t restarts_ = 0;
  // Number of this attempt, so that callbacks of earlier ones do nothing.
  std::shared_ptr<uint64_t> attempt_ = std::make_shared<uint64_t>(0);

  // What the tickerplant said.
  tplog::LeaderEpoch leader_;
  std::vector<Schema> schemas_;
  std::vector<tplog::LogOfDay> logs_;
  std::string log_path_;
  std::optional<uint32_t> first_message_crc_;

  bool was_open_ = false;     // True if this process has opened the topics before.
  int64_t opened_batch_ = 0;  // Number of the last committed batch at that time.
  NameMap<int32_t> partitions_;
  std::vector<tplog::LogOfDay> earlier_logs_;  // To be read; the last one is the next.
  bool asks_known_message_ = false;
  int64_t known_message_ns_ = 0;  // MonotonicNs of the last question for one.

  wire::Timer pause_, linger_, watch_;
  std::unique_ptr<wire::Client> questions_;
  std::unique_ptr<BatchWriter> writer_;
  std::unique_ptr<tplog::Subscriber> subscriber_;
};

}  // namespace tickstack::bridge
