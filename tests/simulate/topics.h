#pragma once

// The Kafka of a simulated bridge: topics with committed records, and the writers of a prefix. A
// writer that opens fences those before it, as transactional ids do. A transaction may be committed
// although its writer gets no answer, also after the writer has died.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridge/batch_writer.h"
#include "bridge/exporter.h"
#include "tests/simulate/rows.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

class Topics {
 public:
  // `partitions`: of each table's topic.
  Topics(World& world, int32_t partitions) : world_(world), partitions_(partitions) {}

  // Opens a writer of a process. `instance` identifies it in the states that it writes.
  std::unique_ptr<bridge::BatchWriter> Open(Process& process, std::string instance,
                                            std::vector<Schema> tables,
                                            bridge::TopicWriterCounters* counters,
                                            bridge::BatchWriter::Events events);

  int32_t partitions() const { return partitions_; }
  // What a consumer reads that does not know row numbers: rows by partition.
  const std::map<std::string, std::vector<RowTexts>, std::less<>>& rows() const { return rows_; }
  // The state after the last committed transaction; nullopt: there was none.
  const std::optional<bridge::StreamState>& last() const { return last_; }
  // The day of the first committed transaction, in days since 2000-01-01.
  std::optional<int32_t> first_day() const { return first_day_; }
  // Why records are not what their headers say; empty: they are.
  const std::string& problem() const { return problem_; }

  // ---- trouble
  // Nothing is answered before `until_ns` (monotonic).
  void Stop(int64_t until_ns) { stopped_until_ns_ = until_ns; }
  void set_delay_ns_max(int64_t ns) { delay_ns_max_ = ns; }
  // One in `ended` transactions ends its writer, which does not know whether it was committed. One
  // in `aborted` is aborted and written again. 0: none.
  void set_fails_one_in(uint64_t ended, uint64_t aborted) {
    ended_one_in_ = ended;
    aborted_one_in_ = aborted;
  }
  void CallOffTrouble();

 private:
  class Writer;
  // When a message that is sent now arrives.
  int64_t ArrivesNs();
  void Commit(const bridge::OutgoingBatch& batch, const std::string& instance);

  World& world_;
  const int32_t partitions_;
  std::map<std::string, std::vector<RowTexts>, std::less<>> rows_;
  std::optional<bridge::StreamState> last_;
  std::optional<int32_t> first_day_;
  std::string problem_;
  uint64_t newest_writer_ = 0;  // Transactions of those before it are not committed.
  uint64_t writers_ = 0;
  int64_t delay_ns_max_ = 5'000'000;
  int64_t stopped_until_ns_ = 0;
  uint64_t ended_one_in_ = 0, aborted_one_in_ = 0;
};

}  // namespace tickstack::simulate
