#pragma once

// How a tickerplant is a member of a cluster (cluster_member.h).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kafka/kafka_options.h"

namespace tickstack::tickerplant {

// How to reach an etcd with TLS and logins. Paths of files; empty: none.
struct EtcdFiles {
  std::string ca;  // PEM: the certificates that etcd's must be signed by; empty: the system's.
  std::string certificate;  // PEM: shown to an etcd that asks for one.
  std::string key;          // PEM: the private key of `certificate`.
  std::string credentials;  // One line `user:password`, mode 0600.
  bool operator==(const EtcdFiles&) const = default;
};

// `[replication]`, and `log` of a tickerplant.
struct ReplicationOptions {
  std::vector<std::string>
      etcd;  // URLs of etcd's members; empty: no standbys that are sent blocks.
  EtcdFiles etcd_files;
  kafka::KafkaTopicOptions kafka;  // The log; without a topic: it is in files alone.
  bool is_member() const { return !etcd.empty() || !kafka.topic.empty(); }
  std::string cluster = "stack";  // The entry is the key /tickstack/CLUSTER/leadership.
  // The member that leads while the cluster has no entry yet; empty: none. With a topic: while it
  // is empty; empty: any whose log is empty, too.
  std::string first_leader;
  std::string advertise;   // The address at which the others reach this one.
  size_t acknowledge = 0;  // Standbys that must have a row before it is logged.
  int64_t standby_timeout_ns = 500'000'000;
  int64_t lease_ns = 600'000'000;
};

}  // namespace tickstack::tickerplant
