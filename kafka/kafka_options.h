#pragma once

// How to reach Kafka, and a topic.

#include <string>
#include <vector>

namespace tickstack::kafka {

struct KafkaOptions {
  std::string brokers = "127.0.0.1:9092";  // host:port, separated by commas.
  // Settings of librdkafka, each as `name=value`, such as `security.protocol=SSL`.
  std::vector<std::string> settings = {};
};

// A topic with one partition (kafka_topic.h).
struct KafkaTopicOptions {
  KafkaOptions kafka = {};
  std::string topic = {};
  int replication = -1;  // Replicas of a topic that is created; -1: the brokers' default.
};

}  // namespace tickstack::kafka
