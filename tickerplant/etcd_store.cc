#include "tickerplant/etcd_store.h"

#include <curl/curl.h>

#include <charconv>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/status.h"

namespace tickstack::tickerplant {
namespace {

constexpr size_t kAnswerBytesMax = size_t{1} << 20;

std::string Base64(std::string_view text) { return absl::Base64Escape(AbslView(text)); }

// Returns the value of `"name":` after `from`: the text of a string, or a literal; nullopt if there
// is none. etcd's answers have no escapes in the values that are looked for: numbers, booleans and
// base64.
std::optional<std::string_view> FieldOf(std::string_view json, std::string_view name) {
  const std::string pattern = fmt::format("\"{}\":", name);
  const size_t found = json.find(pattern);
  if (found == std::string_view::npos) return std::nullopt;
  json.remove_prefix(found + pattern.size());
  while (!json.empty() && json.front() == ' ') json.remove_prefix(1);
  const bool is_string = !json.empty() && json.front() == '"';
  if (is_string) json.remove_prefix(1);
  const size_t end = json.find_first_of(is_string ? "\"" : ",}] \n");
  if (end == std::string_view::npos) return std::nullopt;
  return json.substr(0, end);
}

std::optional<uint64_t> NumberOf(std::string_view json, std::string_view name) {
  const std::optional<std::string_view> text = FieldOf(json, name);
  uint64_t number = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return number;
}

absl::Status WrongAnswer(std::string_view answer) {
  return InvalidArgument("etcd: an answer of another form: {}", answer.substr(0, 200));
}

size_t OnReceived(const char* data, size_t size, size_t count, void* argument) {
  auto& answer = *static_cast<std::string*>(argument);
  if (answer.size() + size * count > kAnswerBytesMax) return 0;
  answer.append(data, size * count);
  return size * count;
}

}  // namespace

namespace etcd {

std::string RangeRequest(std::string_view key) {
  return fmt::format(R"({{"key":"{}"}})", Base64(key));
}

std::string SwapRequest(std::string_view key, uint64_t revision, std::string_view value) {
  const std::string encoded = Base64(key);
  return fmt::format(
      R"({{"compare":[{{"result":"EQUAL","target":"MOD","key":"{0}","mod_revision":"{1}"}}],)"
      R"("success":[{{"request_put":{{"key":"{0}","value":"{2}"}}}}],)"
      R"("failure":[{{"request_range":{{"key":"{0}"}}}}]}})",
      encoded, revision, Base64(value));
}

absl::StatusOr<ElectionStore::Record> ParseRange(std::string_view answer) {
  if (answer.find("\"header\"") == std::string_view::npos) return WrongAnswer(answer);
  const size_t kvs = answer.find("\"kvs\":");
  if (kvs == std::string_view::npos) return ElectionStore::Record{};  // There is no such key.
  const std::string_view pair = answer.substr(kvs);
  const std::optional<uint64_t> revision = NumberOf(pair, "mod_revision");
  const std::optional<std::string_view> value = FieldOf(pair, "value");
  ElectionStore::Record record;
  if (!revision || !value || !absl::Base64Unescape(AbslView(*value), &record.value)) {
    return WrongAnswer(answer);
  }
  record.revision = *revision;
  return record;
}

absl::StatusOr<ElectionStore::Written> ParseSwap(std::string_view answer, std::string_view value) {
  const std::optional<uint64_t> revision = NumberOf(answer, "revision");
  if (!revision || answer.find("\"responses\"") == std::string_view::npos)
    return WrongAnswer(answer);
  // A false value is left out.
  if (FieldOf(answer, "succeeded") == "true") {
    return ElectionStore::Written{true, {*revision, std::string(value)}};
  }
  TS_ASSIGN_OR_RETURN(ElectionStore::Record now, ParseRange(answer));
  return ElectionStore::Written{false, std::move(now)};
}

}  // namespace etcd

// Runs requests on a thread of its own.
class EtcdStore::Worker {
 public:
  using Done = std::function<void(absl::StatusOr<std::string>)>;

  explicit Worker(EtcdOptions options) : options_(std::move(options)), thread_([this] { Run(); }) {}
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // `done` is called on the worker's thread. False if there are too many requests.
  bool Ask(std::string_view path, std::string body, Done done) {
    {
      const std::lock_guard lock(mutex_);
      if (requests_.size() >= kRequestsMax) return false;
      requests_.push_back({std::string(path), std::move(body), std::move(done)});
    }
    changed_.notify_all();
    return true;
  }
  const std::string& key() const { return options_.key; }

 private:
  struct Request {
    std::string path;
    std::string body;
    Done done;
  };

  void Run() {
    CURL* const handle = curl_easy_init();
    curl_slist* const headers = curl_slist_append(nullptr, "Content-Type: application/json");
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !requests_.empty(); });
      if (stop_) break;
      const Request request = std::move(requests_.front());
      requests_.pop_front();
      lock.unlock();
      absl::StatusOr<std::string> answer =
          handle == nullptr ? Internal("libcurl has no memory") : Post(handle, headers, request);
      // The next request goes to the next member.
      if (!answer.ok()) endpoint_ = (endpoint_ + 1) % options_.endpoints.size();
      request.done(std::move(answer));
    }
    curl_slist_free_all(headers);
    if (handle != nullptr) curl_easy_cleanup(handle);
  }

  absl::StatusOr<std::string> Post(CURL* handle, curl_slist* headers, const Request& request) {
    const std::string url = options_.endpoints[endpoint_] + request.path;
    std::string answer;
    curl_easy_reset(handle);  // Connections stay open.
    curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &OnReceived);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout.count()));
    const CURLcode result = curl_easy_perform(handle);
    long code = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
    if (result != CURLE_OK) {
      return Unavailable("etcd at {}: {}", options_.endpoints[endpoint_],
                         curl_easy_strerror(result));
    }
    if (code != 200) {
      return Unavailable("etcd at {}: status {}: {}", options_.endpoints[endpoint_], code,
                         std::string_view(answer).substr(0, 200));
    }
    return answer;
  }

  const EtcdOptions options_;
  size_t endpoint_ = 0;  // Index of the member to ask; the thread's.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> requests_;  // Guarded by mutex_.
  bool stop_ = false;             // Guarded by mutex_.
  std::thread thread_;            // Last: it uses everything above.
};

absl::StatusOr<std::unique_ptr<EtcdStore>> EtcdStore::Open(wire::EventLoop& loop,
                                                           EtcdOptions options) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialised != CURLE_OK) return Internal("libcurl: {}", curl_easy_strerror(initialised));
  if (options.endpoints.empty()) return absl::InvalidArgumentError("etcd: no endpoints");
  for (std::string& endpoint : options.endpoints) {
    if (!endpoint.starts_with("http://") && !endpoint.starts_with("https://")) {
      return InvalidArgument("etcd: {} is no URL: expected http://HOST:PORT", endpoint);
    }
    while (endpoint.ends_with('/')) endpoint.pop_back();
  }
  return std::unique_ptr<EtcdStore>(
      new EtcdStore(loop, std::make_unique<Worker>(std::move(options))));
}

EtcdStore::EtcdStore(wire::EventLoop& loop, std::unique_ptr<Worker> worker)
    : loop_(loop), worker_(std::move(worker)) {}

EtcdStore::~EtcdStore() { worker_ = nullptr; }

void EtcdStore::Read(std::function<void(absl::StatusOr<Record>)> done) {
  const auto finish = [this, done,
                       alive = std::weak_ptr(alive_)](const absl::StatusOr<std::string>& answer) {
    absl::StatusOr<Record> record =
        answer.ok() ? etcd::ParseRange(*answer) : absl::StatusOr<Record>(answer.status());
    loop_.Post([done, alive, record = std::move(record)] {
      if (!alive.expired()) done(record);
    });
  };
  if (!worker_->Ask("/v3/kv/range", etcd::RangeRequest(worker_->key()), finish)) {
    finish(ResourceExhausted("etcd: {} requests wait", kRequestsMax));
  }
}

void EtcdStore::Write(uint64_t revision, std::string value,
                      std::function<void(absl::StatusOr<Written>)> done) {
  std::string body = etcd::SwapRequest(worker_->key(), revision, value);
  const auto finish = [this, done, value,
                       alive = std::weak_ptr(alive_)](const absl::StatusOr<std::string>& answer) {
    absl::StatusOr<Written> written =
        answer.ok() ? etcd::ParseSwap(*answer, value) : absl::StatusOr<Written>(answer.status());
    loop_.Post([done, alive, written = std::move(written)] {
      if (!alive.expired()) done(written);
    });
  };
  if (!worker_->Ask("/v3/kv/txn", std::move(body), finish)) {
    finish(ResourceExhausted("etcd: {} requests wait", kRequestsMax));
  }
}

}  // namespace tickstack::tickerplant
