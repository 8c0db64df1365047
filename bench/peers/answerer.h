#pragma once

// The protocol of the programs in bench/peers: they read one JSON request per line from standard
// input, and write one JSON answer per line to standard output.
//
//   {"evaluate":"exec max time from quote","threads":2,"answer":"FILE"}
//       -> {"ns":...,"count":...}, or {"error":"..."}. `answer` (optional): the file that gets the
//          value, encoded as in an IPC message, after the clock has stopped.
//
// `ns` is the time of one call of query::Evaluate: parsing, evaluating and building the result, but
// not freeing it.

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/worker_pool.h"
#include "query/query.h"

namespace tickstack::bench {

using Json = nlohmann::ordered_json;

// Threads: one.
class Answerer {
 public:
  // `environment` must outlive this object.
  explicit Answerer(query::Environment* environment) : environment_(*environment) {}

  // Answers until the input ends; calls `other` for requests without `evaluate`.
  void Serve(const std::function<Json(const Json& request)>& other);

 private:
  Json Evaluate(const std::string& text, int threads, const std::string& answer_path);
  WorkerPool* HelpersOf(int threads);

  query::Environment& environment_;
  std::map<int, std::unique_ptr<WorkerPool>> helpers_;  // By the requested number of threads.
};

}  // namespace tickstack::bench
