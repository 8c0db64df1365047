#include "tests/simulate/topics.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "base/status.h"
#include "bridge/payload.h"
#include "table/value.h"
#include "tplog/log_identity.h"
#include "wire/codec.h"

namespace tickstack::simulate {

// The state of a writer, which its requests share: one that arrives late finds it gone.
class Topics::Writer final : public bridge::BatchWriter {
 public:
  Writer(Topics& topics, Process& process, std::string instance, std::vector<Schema> tables,
         bridge::TopicWriterCounters* counters, Events events)
      : topics_(topics),
        process_(process),
        instance_(std::move(instance)),
        tables_(std::move(tables)),
        counters_(counters),
        events_(std::move(events)),
        number_(++topics.writers_) {
    Fence();
  }

  void CreateTopics() override {}  // They exist.
  void Put(bridge::OutgoingBatch batch) override {
    queue_.push_back(std::make_shared<const bridge::OutgoingBatch>(std::move(batch)));
    if (queue_.size() == 1) Write();
  }
  size_t queued() const override { return queue_.size(); }
  int64_t since_ns() const override { return queue_.empty() ? 0 : queue_.front()->since_ns; }
  absl::Status problem() const override { return absl::OkStatus(); }

 private:
  // Calls `arrive` when a request that is sent now reaches Kafka. What that returns is called here
  // when the answer arrives, unless the writer has been destroyed.
  void Ask(std::function<std::function<void(Writer&)>()> arrive) {
    Topics& topics = topics_;
    topics.world_.At(topics.ArrivesNs(),
                     [&topics, arrive = std::move(arrive), this, alive = std::weak_ptr(alive_)] {
                       topics.world_.At(topics.ArrivesNs(), [answer = arrive(), this, alive] {
                         if (alive.expired()) return;
                         process_.loop().Post([answer, this, alive] {
                           if (!alive.expired()) answer(*this);
                         });
                       });
                     });
  }

  void Fence() {
    Ask([&topics = topics_, number = number_] {
      topics.newest_writer_ = std::max(topics.newest_writer_, number);
      return [](Writer& writer) { writer.AskPosition(); };
    });
  }

  void AskPosition() {
    Ask([&topics = topics_]() -> std::function<void(Writer&)> {
      return [last = topics.last_](Writer& writer) {
        bridge::OpenedTopics opened;
        opened.last = last;
        for (const Schema& schema : writer.tables_) {
          opened.partitions[schema.table] = writer.topics_.partitions_;
        }
        writer.events_.opened(std::move(opened));
      };
    });
  }

  // Writes the first batch of the queue in a transaction.
  void Write() {
    Random& random = topics_.world_.random();
    const bool is_aborted = topics_.aborted_one_in_ > 0 && random.OneIn(topics_.aborted_one_in_);
    const bool is_ended = topics_.ended_one_in_ > 0 && random.OneIn(topics_.ended_one_in_);
    const bool is_committed = !is_aborted && !(is_ended && random.OneIn(2));
    Ask([&topics = topics_, number = number_, instance = instance_, batch = queue_.front(),
         is_aborted, is_ended, is_committed]() -> std::function<void(Writer&)> {
      const bool is_fenced = number != topics.newest_writer_;
      if (!is_fenced && is_committed) topics.Commit(*batch, instance);
      if (is_fenced || is_ended) {
        return [](Writer& writer) {
          writer.events_.ended(absl::AbortedError("simulated: the producer has ended"));
        };
      }
      if (is_aborted) return [](Writer& writer) { writer.Write(); };
      return [](Writer& writer) { writer.OnCommitted(); };
    });
  }

  void OnCommitted() {
    counters_->transactions.fetch_add(1, std::memory_order_relaxed);
    counters_->rows.fetch_add(queue_.front()->rows, std::memory_order_relaxed);
    queue_.pop_front();
    if (!queue_.empty()) Write();
    events_.committed();
  }

  Topics& topics_;
  Process& process_;
  const std::string instance_;
  const std::vector<Schema> tables_;
  bridge::TopicWriterCounters* const counters_;
  const Events events_;
  const uint64_t number_;
  std::deque<std::shared_ptr<const bridge::OutgoingBatch>> queue_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

std::unique_ptr<bridge::BatchWriter> Topics::Open(Process& process, std::string instance,
                                                  std::vector<Schema> tables,
                                                  bridge::TopicWriterCounters* counters,
                                                  bridge::BatchWriter::Events events) {
  return std::make_unique<Writer>(*this, process, std::move(instance), std::move(tables), counters,
                                  std::move(events));
}

int64_t Topics::ArrivesNs() {
  const int64_t at_ns = world_.MonotonicNs() + world_.random().Between(0, delay_ns_max_);
  return std::max(at_ns, stopped_until_ns_);
}

void Topics::CallOffTrouble() {
  delay_ns_max_ = 5'000'000;
  stopped_until_ns_ = 0;
  ended_one_in_ = aborted_one_in_ = 0;
}

void Topics::Commit(const bridge::OutgoingBatch& batch, const std::string& instance) {
  for (const bridge::OutgoingRecord& record : batch.records) {
    if (record.ended_day) continue;
    std::vector<RowTexts>& partitions = rows_[record.table];
    partitions.resize(static_cast<size_t>(partitions_));
    RowTexts& rows = partitions[static_cast<size_t>(record.partition)];
    const Schema* const schema = FindSchema(record.table);
    const absl::StatusOr<std::span<const std::byte>> body = bridge::BodyOf(record.payload);
    const absl::StatusOr<Value> table = body.ok() ? wire::Decode(*body) : body.status();
    const bool is_whole = schema != nullptr && table.ok() && table->is_table() &&
                          table->count() == record.rows &&
                          record.first_row == static_cast<int64_t>(rows.size());
    if (!is_whole && problem_.empty()) {
      problem_ =
          fmt::format("{} rows of {} from row {} on, after {} rows of partition {}", record.rows,
                      record.table, record.first_row, rows.size(), record.partition);
    }
    if (is_whole) AppendTexts(*schema, *table, rows);
  }
  if (!last_) first_day_ = tplog::DayOfLog(batch.after.log.path);
  last_ = batch.after;
  last_->writer = instance;
  world_.Trace("kafka", static_cast<uint64_t>(batch.after.batch));
}

}  // namespace tickstack::simulate
