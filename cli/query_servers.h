#pragma once

// The processes that `tickstack query` asks, one or several, over connections that stay open.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "table/value.h"
#include "wire/address.h"
#include "wire/client.h"

namespace tickstack::cli {

// Threads: one owner.
class QueryServers {
 public:
  // `addresses`: one or more, separated by commas. kInvalidArgument for an invalid one.
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
  // Asks all servers concurrently, waits for all, and returns their answers in the order of the
  // addresses. Errors: kUnavailable: no connection, or no answer in time; kUnknown: q's error text;
  // kCancelled: SIGINT, which also cancels the query at the server.
  std::vector<Answered> Ask(const std::string& query, std::chrono::milliseconds timeout);

  // Asks only the first server.
  Answered AskFirst(const std::string& query, std::chrono::milliseconds timeout);

  size_t size() const;
  const std::string& names() const;  // The addresses as they were given.

 private:
  struct Impl;
  explicit QueryServers(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack::cli
