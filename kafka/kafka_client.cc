#include "kafka/kafka_client.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "base/byte_buffer.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::kafka {
namespace {

struct ConfDeleter {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
};
using OwnedConf = std::unique_ptr<rd_kafka_conf_t, ConfDeleter>;

struct AdminDeleter {
  void operator()(rd_kafka_NewTopic_t* topic) const { rd_kafka_NewTopic_destroy(topic); }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
  void operator()(rd_kafka_ConfigResource_t* one) const { rd_kafka_ConfigResource_destroy(one); }
};
template <typename T>
using AdminOwned = std::unique_ptr<T, AdminDeleter>;

// Settings that callers make themselves.
constexpr std::string_view kOwnSettings[] = {"transactional.id",     "enable.idempotence",
                                             "isolation.level",      "bootstrap.servers",
                                             "metadata.broker.list", "enable.auto.commit",
                                             "auto.offset.reset",    "enable.auto.offset.store",
                                             "enable.partition.eof", "group.id"};

absl::Status SetKafka(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  std::array<char, 512> why{};
  if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why.data(), why.size()) ==
      RD_KAFKA_CONF_OK) {
    return absl::OkStatus();
  }
  return InvalidArgument("kafka setting {}: {}", name, why.data());
}

absl::StatusOr<std::pair<std::string, std::string>> SplitSetting(const std::string& text) {
  const size_t at = text.find('=');
  if (at == 0 || at == std::string::npos) {
    return InvalidArgument("kafka setting '{}': expected name=value", text.substr(0, at));
  }
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

absl::Status ApplySettings(const KafkaOptions& options, rd_kafka_conf_t* conf) {
  for (const std::string& text : options.settings) {
    TS_ASSIGN_OR_RETURN(const auto setting, SplitSetting(text));
    for (const std::string_view own : kOwnSettings) {
      if (setting.first == own) {
        return InvalidArgument("kafka setting {}: tickstack sets it itself", own);
      }
    }
    TS_RETURN_IF_ERROR(SetKafka(conf, setting.first, setting.second));
  }
  return absl::OkStatus();
}

void LogKafka(const rd_kafka_t* /*kafka*/, int level, const char* /*facility*/, const char* text) {
  static LogLimit limit;
  constexpr int kWarning = 4;  // As in syslog: smaller is more severe.
  if (level > kWarning) return;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    LogWarn("kafka text=\"{}\" withheld={}", text, *withheld);
  }
}

}  // namespace

void KafkaDeleter::operator()(rd_kafka_t* kafka) const {
  struct Closing {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  const auto closing = std::make_shared<Closing>();
  std::thread([kafka, closing] {
    rd_kafka_destroy(kafka);
    const std::lock_guard lock(closing->mutex);
    closing->done = true;
    closing->changed.notify_all();
  }).detach();
  std::unique_lock lock(closing->mutex);
  if (closing->changed.wait_for(lock, kCloseMax, [&] { return closing->done; })) return;
  LogWarn("kafka client not closed, and left to itself s={}", kCloseMax.count());
}

absl::Status CheckKafkaOptions(const KafkaOptions& options) {
  if (options.brokers.empty()) return InvalidArgument("brokers: expected host:port");
  const OwnedConf conf(rd_kafka_conf_new());
  return ApplySettings(options, conf.get());
}

absl::StatusOr<KafkaOwned<rd_kafka_t>> OpenKafka(rd_kafka_type_t type, const KafkaOptions& options,
                                                 const KafkaSettings& own,
                                                 const KafkaDelivery& delivery) {
  OwnedConf conf(rd_kafka_conf_new());
  TS_RETURN_IF_ERROR(SetKafka(conf.get(), "client.id", "tickstack"));
  // Fast enough for a broker that restarts.
  TS_RETURN_IF_ERROR(SetKafka(conf.get(), "reconnect.backoff.max.ms", "1000"));
  // A transaction's records come together, so none has to wait for others.
  if (type == RD_KAFKA_PRODUCER) TS_RETURN_IF_ERROR(SetKafka(conf.get(), "linger.ms", "0"));
  TS_RETURN_IF_ERROR(ApplySettings(options, conf.get()));
  TS_RETURN_IF_ERROR(SetKafka(conf.get(), "bootstrap.servers", options.brokers));
  for (const auto& [name, value] : own) {
    TS_RETURN_IF_ERROR(SetKafka(conf.get(), name, value));
  }
  rd_kafka_conf_set_log_cb(conf.get(), LogKafka);
  if (delivery.on_answer != nullptr) {
    rd_kafka_conf_set_dr_msg_cb(conf.get(), delivery.on_answer);
    rd_kafka_conf_set_opaque(conf.get(), delivery.opaque);
  }
  std::array<char, 512> why{};
  rd_kafka_t* const kafka = rd_kafka_new(type, conf.get(), why.data(), why.size());
  if (kafka == nullptr) return InvalidArgument("kafka: {}", why.data());
  static_cast<void>(conf.release());  // rd_kafka_new took it.
  return KafkaOwned<rd_kafka_t>(kafka);
}

absl::Status CreateTopics(rd_kafka_t* client, const std::vector<NewKafkaTopic>& topics) {
  constexpr int kAnswerMs = 20'000;
  std::vector<AdminOwned<rd_kafka_NewTopic_t>> owned;
  std::vector<rd_kafka_NewTopic_t*> pointers;
  for (const NewKafkaTopic& topic : topics) {
    std::array<char, 512> why{};
    rd_kafka_NewTopic_t* const made = rd_kafka_NewTopic_new(
        topic.name.c_str(), topic.partitions, topic.replication, why.data(), why.size());
    if (made == nullptr) return InvalidArgument("topic {}: {}", topic.name, why.data());
    owned.emplace_back(made);
    pointers.push_back(made);
    for (const auto& [name, value] : topic.settings) {
      rd_kafka_NewTopic_set_config(made, name.c_str(), value.c_str());
    }
  }
  const AdminOwned<rd_kafka_queue_t> queue(rd_kafka_queue_new(client));
  rd_kafka_CreateTopics(client, pointers.data(), pointers.size(), nullptr, queue.get());
  const AdminOwned<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), kAnswerMs));
  if (event == nullptr) return Unavailable("kafka: create topics: no answer");
  if (const rd_kafka_resp_err_t code = rd_kafka_event_error(event.get())) {
    return KafkaError(code, "kafka: create topics");
  }
  size_t count = 0;
  const rd_kafka_topic_result_t** const results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  absl::Status exists;
  for (const rd_kafka_topic_result_t* const result : std::span(results, count)) {
    const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(result);
    const std::string_view name = rd_kafka_topic_result_name(result);
    if (code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
      exists = absl::AlreadyExistsError(fmt::format("kafka: topic {} exists", name));
    } else if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return KafkaError(code, fmt::format("kafka: create topic {}", name));
    }
  }
  return exists;
}

absl::Status CheckKeepsRecords(rd_kafka_t* client, const std::string& topic, int timeout_ms) {
  constexpr std::string_view kPolicy = "cleanup.policy";
  const AdminOwned<rd_kafka_ConfigResource_t> resource(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  const AdminOwned<rd_kafka_queue_t> queue(rd_kafka_queue_new(client));
  rd_kafka_ConfigResource_t* wanted = resource.get();
  rd_kafka_DescribeConfigs(client, &wanted, 1, nullptr, queue.get());
  const AdminOwned<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), timeout_ms));
  if (event == nullptr) return Unavailable("kafka: describe topic {}: no answer", topic);
  // Brokers that are silent answer nothing else either, and others that refuse this work.
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) return absl::OkStatus();
  size_t count = 0;
  const rd_kafka_ConfigResource_t** const resources = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event.get()), &count);
  for (const rd_kafka_ConfigResource_t* const described : std::span(resources, count)) {
    size_t entries = 0;
    const rd_kafka_ConfigEntry_t** const all = rd_kafka_ConfigResource_configs(described, &entries);
    for (const rd_kafka_ConfigEntry_t* const entry : std::span(all, entries)) {
      const char* const value = rd_kafka_ConfigEntry_value(entry);
      if (kPolicy != rd_kafka_ConfigEntry_name(entry) || value == nullptr) continue;
      if (std::string_view(value).find("compact") == std::string_view::npos) continue;
      return FailedPrecondition(
          "kafka: topic {} has {}={}, which removes records: set it to delete", topic, kPolicy,
          value);
    }
  }
  return absl::OkStatus();
}

absl::Status FindOffsets(rd_kafka_t* client, rd_kafka_topic_partition_list_t* partitions,
                         int timeout_ms) {
  constexpr std::string_view kWhat = "kafka: offsets";
  if (partitions->cnt == 0) return absl::OkStatus();
  const rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(client, partitions, timeout_ms);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaError(code, kWhat);
  for (const rd_kafka_topic_partition_t& one :
       std::span(partitions->elems, static_cast<size_t>(partitions->cnt))) {
    if (one.err == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    return KafkaError(one.err, fmt::format("{} of {} {}", kWhat, one.topic, one.partition));
  }
  return absl::OkStatus();
}

absl::Status KafkaError(rd_kafka_resp_err_t code, std::string_view what) {
  return Unavailable("{}: {}: {}", what, rd_kafka_err2name(code), rd_kafka_err2str(code));
}

absl::Status KafkaError(const rd_kafka_error_t* error, std::string_view what) {
  return Unavailable("{}: {}: {}", what, rd_kafka_error_name(error), rd_kafka_error_string(error));
}

int32_t PartitionOf(std::string_view symbol, int32_t partitions) {
  constexpr uint32_t kMultiplier = 0x5bd1e995;
  constexpr int kShift = 24;
  const std::span<const std::byte> bytes = AsBytes(symbol);
  uint32_t hash = 0x9747b28cU ^ static_cast<uint32_t>(bytes.size());
  size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) {
    uint32_t word = LoadLittle<uint32_t>(bytes.data() + at) * kMultiplier;
    word ^= word >> kShift;
    hash = (hash * kMultiplier) ^ (word * kMultiplier);
  }
  if (at < bytes.size()) {
    uint32_t rest = 0;
    std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
    hash = (hash ^ rest) * kMultiplier;
  }
  hash ^= hash >> 13;
  hash *= kMultiplier;
  hash ^= hash >> 15;
  return static_cast<int32_t>(hash & 0x7fffffffU) % partitions;
}

}  // namespace tickstack::kafka
