#pragma once

// The processes that a `tickstack query` asks, one or several at once, over connections that stay.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "table/value.h"
#include "wire/address.h"
#include "wire/client.h"

namespace tickstack {

// Threads: one owner.
class QueryServers {
 public:
  // `addresses`: one or more, with commas between. kInvalidArgument for what is none.
  static absl::StatusOr<std::unique_ptr<QueryServers>> Connect(const std::string& addresses,
                                                               const wire::ClientOptions& options);
  ~QueryServers();
  QueryServers(const QueryServers&) = delete;
  QueryServers& operator=(const QueryServers&) = delete;

  struct Answered {
    std::string address;
    absl::StatusOr<Value> answer;
    double ms = 0;  // From the question to the answer.
  };
  // Asks all of them at once and waits for all, in the order of the addresses. kUnavailable: nobody
  // is there, or no answer in time; kUnknown: q's error text; kCancelled: by SIGINT, which ends the
  // question at the server too.
  std::vector<Answered> Ask(const std::string& query, std::chrono::milliseconds timeout);

  // The same of the first one alone.
  Answered AskFirst(const std::string& query, std::chrono::milliseconds timeout);

  size_t size() const;
  const std::string& names() const;  // As they were given.

 private:
  struct Impl;
  explicit QueryServers(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack
