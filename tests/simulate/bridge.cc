#include "tests/simulate/bridge.h"

#include <algorithm>
#include <utility>

namespace tickstack::simulate {

bool BridgeOptions::Exports(std::string_view table) const {
  return tables.empty() || std::ranges::find(tables, table) != tables.end();
}

BridgeOptions DrawBridgeOptions(Random& random) {
  constexpr int64_t kMs = 1'000'000;
  BridgeOptions options;
  if (random.OneIn(4)) options.tables = {OneOf(random, SourceSchemas()).table};
  options.partitions = static_cast<int32_t>(random.Between(1, 3));
  options.record_bytes = OneOf<size_t>(random, {200, size_t{400} << 10});
  options.batch_bytes = OneOf<size_t>(random, {500, 4000, size_t{8} << 20});
  options.linger_ns = OneOf<int64_t>(random, {0, kMs, 100 * kMs});
  return options;
}

absl::StatusOr<std::unique_ptr<Program>> StartBridge(Process& process, const StackOptions& stack,
                                                     const BridgeOptions& options, Topics& topics) {
  bridge::ExportOptions made;
  made.subscriber = SubscribeAs(process, stack);
  made.exporter.tables = options.tables;
  made.exporter.record_bytes = options.record_bytes;
  made.exporter.batch_bytes = options.batch_bytes;
  made.linger_ns = options.linger_ns;
  made.writer.prefix = "lives";
  made.writer.instance = fmt::format("{}.{}", process.name(), process.starts());
  made.open_writer = [&process, &topics, instance = made.writer.instance](
                         wire::EventLoop&, std::vector<Schema> tables,
                         bridge::TopicWriterCounters* counters,
                         bridge::BatchWriter::Events events) {
    return topics.Open(process, instance, std::move(tables), counters, std::move(events));
  };
  auto program = std::make_unique<BridgeProgram>();
  program->service = std::make_unique<bridge::ExportService>(process.loop(), std::move(made));
  return program;
}

}  // namespace tickstack::simulate
