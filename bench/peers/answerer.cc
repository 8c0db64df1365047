#include "bench/peers/answerer.h"

#include <iostream>

#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "wire/codec.h"

namespace tickstack::bench {
namespace {

constexpr size_t kResultBytesMax = size_t{8} << 30;

absl::Status Write(const Value& value, const std::string& path) {
  TS_RETURN_IF_ERROR(wire::EncodedBytes(value).status());
  ByteBuffer bytes;
  wire::Encode(value, bytes);
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(path));
  TS_RETURN_IF_ERROR(file.Truncate(0));
  return file.WriteAt(0, bytes);
}

}  // namespace

void Answerer::Serve(const std::function<Json(const Json& request)>& other) {
  for (std::string line; std::getline(std::cin, line);) {
    const Json request = Json::parse(line, nullptr, false);
    Json answer;
    if (!request.is_object()) {
      answer = {{"error", "not a JSON object: " + line}};
    } else if (request.contains("evaluate")) {
      answer = Evaluate(request.at("evaluate").get<std::string>(), request.value("threads", 1),
                        request.value("answer", std::string()));
    } else {
      answer = other(request);
    }
    std::cout << answer.dump() << std::endl;
  }
}

Json Answerer::Evaluate(const std::string& text, int threads, const std::string& answer_path) {
  query::Limits limits;
  limits.max_result_bytes = kResultBytesMax;
  limits.workers = threads > 1 ? HelpersOf(threads) : nullptr;
  const int64_t begin_ns = MonotonicNs();
  absl::StatusOr<Value> value = query::Evaluate(text, environment_, limits);
  const int64_t ns = MonotonicNs() - begin_ns;
  if (!value.ok()) return {{"error", Message(value.status())}};
  if (!answer_path.empty()) {
    const absl::Status written = Write(*value, answer_path);
    if (!written.ok()) return {{"error", Message(written)}};
  }
  return {{"ns", ns}, {"count", value->count()}};
}

// Returns one thread fewer than requested: the caller is one.
WorkerPool* Answerer::HelpersOf(int threads) {
  std::unique_ptr<WorkerPool>& pool = helpers_[threads];
  if (pool == nullptr) pool = std::make_unique<WorkerPool>(static_cast<size_t>(threads - 1));
  return pool.get();
}

}  // namespace tickstack::bench
