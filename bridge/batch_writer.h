#pragma once

// What an ExportService asks of the writer of its batches: topics and the last position when it
// opens, the topics that are missing once the tickerplant is known to be the right one, and one
// transaction a batch after that. TopicWriter writes to Kafka; tests may replace it.
//
// Threads: the loop's, except for the functions that say otherwise. Callbacks come from the loop.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/name_map.h"
#include "bridge/exporter.h"
#include "bridge/stream_state.h"
#include "table/schema.h"
#include "wire/event_loop.h"

namespace tickstack::bridge {

// The topics of an open writer, and the last position.
struct OpenedTopics {
  std::optional<StreamState> last;  // nullopt: nothing was written under the prefix.
  // By table. For a topic that does not exist: the partitions that it will have.
  NameMap<int32_t> partitions;
};

struct TopicWriterCounters {
  std::atomic<uint64_t> transactions{0};
  std::atomic<uint64_t> aborts{0};
  std::atomic<uint64_t> rows{0};     // Committed.
  std::atomic<uint64_t> records{0};  // Committed.
  std::atomic<uint64_t> bytes{0};    // Committed payloads.
  std::atomic<uint64_t> errors{0};   // Failed calls.
  std::atomic<int64_t> delay_ns{0};  // From the first row of the last batch until it was committed.
  std::atomic<int64_t> delay_max_ns{0};
};

class BatchWriter {
 public:
  struct Events {
    std::function<void(OpenedTopics)> opened;
    std::function<void()> committed;  // A batch is committed: there may be room.
    // The writer writes no more. kAborted or kUnavailable: another one may go on from the last
    // committed position.
    std::function<void(absl::Status)> ended;
  };
  // Makes a writer that opens in the background. `tables`: those that are exported. `counters` must
  // outlive the writer.
  using Open = std::function<std::unique_ptr<BatchWriter>(
      wire::EventLoop& loop, std::vector<Schema> tables, TopicWriterCounters* counters, Events)>;

  virtual ~BatchWriter() = default;
  // Creates the topics that do not exist. To be called once the tickerplant is known to be the one
  // whose rows are there. Opening creates nothing, so a stack that is refused leaves no topic.
  virtual void CreateTopics() = 0;
  // Writes a batch, and creates the topics before the first one.
  virtual void Put(OutgoingBatch batch) = 0;
  virtual size_t queued() const = 0;     // Batches that are not committed.
  virtual int64_t since_ns() const = 0;  // MonotonicNs: first row of the oldest one; 0: none.
  // Why it makes no progress at the moment; OK if it does. Any thread.
  virtual absl::Status problem() const = 0;
};

}  // namespace tickstack::bridge
