#include "s3/s3_store.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"

namespace tickstack::s3 {
namespace {

constexpr size_t kErrorBytesMax = 512;  // The most that is kept of an error.
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr long kUploadBytesPerSecondMin = 16 * 1024;

// Signed requests are only right if curl does not change the path, so these are all that it may
// have.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

std::string Sha256OfBytes(std::span<const std::byte> bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

// One request, while libcurl calls back.
struct Transfer {
  CURL* handle = nullptr;
  const std::atomic<bool>* cancelled = nullptr;
  std::span<const std::byte> sent;  // What a PUT still has to send.
  std::span<const std::byte> whole;
  std::span<std::byte> room;  // What a GET still has to receive.
  bool has_too_much = false;
  std::string error_text;  // The beginning of an answer that is an error.
};

bool IsSuccess(long code) { return code >= 200 && code < 300; }

size_t OnReceived(char* data, size_t, size_t bytes, void* argument) {
  auto& transfer = *static_cast<Transfer*>(argument);
  long code = 0;
  curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &code);
  if (!IsSuccess(code)) {
    const size_t left = kErrorBytesMax - std::min(kErrorBytesMax, transfer.error_text.size());
    transfer.error_text.append(data, std::min(bytes, left));
    return bytes;
  }
  if (bytes > transfer.room.size()) {
    transfer.has_too_much = true;
    return 0;  // Ends the transfer.
  }
  std::memcpy(transfer.room.data(), data, bytes);
  transfer.room = transfer.room.subspan(bytes);
  return bytes;
}

size_t OnSending(char* data, size_t, size_t bytes, void* argument) {
  auto& transfer = *static_cast<Transfer*>(argument);
  const size_t part = std::min(bytes, transfer.sent.size());
  if (part > 0) std::memcpy(data, transfer.sent.data(), part);
  transfer.sent = transfer.sent.subspan(part);
  return part;
}

// curl sends a body again if the server closed the connection before it answered.
int OnSeek(void* argument, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(argument);
  if (origin != SEEK_SET || offset < 0 || static_cast<size_t>(offset) > transfer.whole.size()) {
    return CURL_SEEKFUNC_CANTSEEK;
  }
  transfer.sent = transfer.whole.subspan(static_cast<size_t>(offset));
  return CURL_SEEKFUNC_OK;
}

// Called at least once a second.
int OnProgress(void* argument, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<Transfer*>(argument);
  const bool ends =
      transfer.cancelled != nullptr && transfer.cancelled->load(std::memory_order_relaxed);
  return ends ? 1 : 0;
}

class HeaderList {
 public:
  ~HeaderList() { curl_slist_free_all(list_); }
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  void Add(const std::string& line) { list_ = curl_slist_append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

enum class Verb { kGet, kPut };

struct Request {
  Verb verb = Verb::kGet;
  std::string key;
  uint64_t begin = 0;               // First byte that a GET reads.
  std::span<std::byte> received;    // Where a GET puts the bytes.
  std::span<const std::byte> sent;  // The content of a PUT.
  std::string sha256;               // Of `sent`.
  const std::atomic<bool>* cancelled = nullptr;
};

class S3Store : public disk::ObjectStore {
 public:
  explicit S3Store(S3Options options)
      : options_(std::move(options)), name_(fmt::format("s3://{}", options_.bucket)) {}
  ~S3Store() override {
    for (CURL* const handle : idle_) curl_easy_cleanup(handle);
  }

  const std::string& name() const override { return name_; }
  absl::Status Put(const std::string& key, std::span<const std::byte> bytes) override {
    Request request;
    request.verb = Verb::kPut;
    request.key = key;
    request.sent = bytes;
    return Do(request);
  }
  absl::Status Get(const std::string& key, uint64_t begin, std::span<std::byte> out,
                   const std::atomic<bool>* cancelled) override {
    Request request;
    request.key = key;
    request.begin = begin;
    request.received = out;
    request.cancelled = cancelled;
    return Do(request);
  }

 private:
  absl::Status Do(Request& request);
  absl::Status Try(const Request& request, bool* may_retry);
  absl::Status ErrorOfAnswer(const Request& request, long code, const Transfer& transfer) const;
  CURL* TakeHandle();

  const S3Options options_;
  const std::string name_;
  std::mutex mutex_;
  std::vector<CURL*> idle_;  // Guarded by mutex_: handles with open connections.
};

CURL* S3Store::TakeHandle() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      CURL* const handle = idle_.back();
      idle_.pop_back();
      return handle;
    }
  }
  return curl_easy_init();
}

// Returns what an answer that is no success says. S3 services explain errors in XML.
absl::Status S3Store::ErrorOfAnswer(const Request& request, long code,
                                    const Transfer& transfer) const {
  std::string_view text = transfer.error_text;
  const auto between = [&text](std::string_view begin, std::string_view end) {
    const size_t at = text.find(begin);
    if (at == std::string_view::npos) return std::string_view();
    const std::string_view rest = text.substr(at + begin.size());
    return rest.substr(0, rest.find(end));
  };
  std::string what;
  for (const char c : between("<Code>", "</Code>")) what += c >= ' ' && c <= '~' ? c : '?';
  const std::string message =
      fmt::format("{}/{}: {} answered {}{}", name_, request.key, options_.endpoint, code,
                  what.empty() ? "" : " (" + what + ")");
  if (code == 404) return NotFound("{}", message);
  if (code == 401 || code == 403) return PermissionDenied("{}", message);
  if (code == 416) return DataLoss("{}: the object ends before byte {}", message, request.begin);
  return Unavailable("{}", message);
}

absl::Status S3Store::Try(const Request& request, bool* may_retry) {
  *may_retry = false;
  CURL* const handle = TakeHandle();
  if (handle == nullptr) return ResourceExhausted("libcurl: no memory for a request");
  Transfer transfer;
  transfer.handle = handle;
  transfer.cancelled = request.cancelled;
  transfer.sent = transfer.whole = request.sent;
  transfer.room = request.received;
  char curl_error[CURL_ERROR_SIZE] = "";
  HeaderList headers;
  const std::string url = fmt::format("{}/{}/{}", options_.endpoint, options_.bucket, request.key);
  const std::string signature = fmt::format("aws:amz:{}:s3", options_.region);
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, curl_error);
  curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, signature.c_str());
  curl_easy_setopt(handle, CURLOPT_USERNAME, options_.credentials.access_key.c_str());
  curl_easy_setopt(handle, CURLOPT_PASSWORD, options_.credentials.secret_key.c_str());
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(options_.connect_timeout.count()));
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &OnReceived);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 256L * 1024);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &OnProgress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &transfer);
  if (!options_.credentials.session_token.empty()) {
    headers.Add("x-amz-security-token: " + options_.credentials.session_token);
  }
  // S3 requires the hash of the body, also of an empty one. curl neither computes it for an upload
  // nor sends it otherwise, but signs this header.
  headers.Add("x-amz-content-sha256: " + request.sha256);
  switch (request.verb) {
    case Verb::kGet: {
      const std::string range =
          fmt::format("{}-{}", request.begin, request.begin + request.received.size() - 1);
      curl_easy_setopt(handle, CURLOPT_RANGE, range.c_str());
      curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout.count()));
      break;
    }
    case Verb::kPut:
      // An object may take longer than `timeout`, but not at less than this rate for as long.
      curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, kUploadBytesPerSecondMin);
      curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME,
                       std::max(1L, static_cast<long>(options_.timeout.count() / 1000)));
      // Does not wait for an answer to `Expect: 100-continue`. Removing that header, in the list
      // of headers, would sign an empty one.
      curl_easy_setopt(handle, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
      curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
      curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE,
                       static_cast<curl_off_t>(request.sent.size()));
      curl_easy_setopt(handle, CURLOPT_READFUNCTION, &OnSending);
      curl_easy_setopt(handle, CURLOPT_READDATA, &transfer);
      curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, &OnSeek);
      curl_easy_setopt(handle, CURLOPT_SEEKDATA, &transfer);
      curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, 256L * 1024);
      break;
  }
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());

  const CURLcode result = curl_easy_perform(handle);
  long code = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  if (result == CURLE_OK) {
    curl_easy_reset(handle);  // It must not refer to this function's variables any more.
    const std::lock_guard lock(mutex_);
    idle_.push_back(handle);
  } else {
    curl_easy_cleanup(handle);  // Its connection may be in the middle of an answer.
  }

  const std::string object = fmt::format("{}/{}", name_, request.key);
  if (result == CURLE_ABORTED_BY_CALLBACK) {
    return absl::CancelledError(AbslView(fmt::format("{}: cancelled", object)));
  }
  if (transfer.has_too_much) {
    return DataLoss("{}: {} sent more than the {} bytes that were requested from byte {} on",
                    object, options_.endpoint, request.received.size(), request.begin);
  }
  if (result != CURLE_OK) {
    *may_retry = true;
    return Unavailable("{}: {}: {}", object, options_.endpoint,
                       curl_error[0] != '\0' ? curl_error : curl_easy_strerror(result));
  }
  if (!IsSuccess(code)) {
    *may_retry = code >= 500 || code == 429;
    return ErrorOfAnswer(request, code, transfer);
  }
  if (request.verb == Verb::kPut) return absl::OkStatus();
  // A server that ignores ranges sends the whole object.
  if (code != 206 && request.begin != 0) {
    return DataLoss("{}: {} answered {} to a request for a range, expected 206", object,
                    options_.endpoint, code);
  }
  if (transfer.room.empty()) return absl::OkStatus();
  return DataLoss("{}: {} sent {} bytes from byte {} on, expected {}", object, options_.endpoint,
                  request.received.size() - transfer.room.size(), request.begin,
                  request.received.size());
}

absl::Status S3Store::Do(Request& request) {
  request.sha256 = Sha256OfBytes(request.sent);
  std::chrono::milliseconds pause = kFirstPause;
  const auto is_cancelled = [&request] {
    return request.cancelled != nullptr && request.cancelled->load(std::memory_order_relaxed);
  };
  for (int attempt = 1;; ++attempt) {
    bool may_retry = false;
    absl::Status status = Try(request, &may_retry);
    if (!may_retry || attempt >= options_.attempts) return status;
    const auto until = std::chrono::steady_clock::now() + pause;
    while (std::chrono::steady_clock::now() < until && !is_cancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (is_cancelled()) return absl::CancelledError(status.message());
    pause *= 2;
  }
}

absl::Status CheckS3Options(const S3Options& options) {
  std::string_view host = options.endpoint;
  const bool is_http = host.starts_with("http://");
  if (!is_http && !host.starts_with("https://")) {
    return InvalidArgument("endpoint {}: expected http://HOST:PORT or https://HOST", host);
  }
  host.remove_prefix(is_http ? 7 : 8);
  if (host.empty() || host.find_first_of("/?#@ ") != std::string_view::npos) {
    return InvalidArgument("endpoint {}: expected a host, and perhaps a port, without a path",
                           options.endpoint);
  }
  if (!IsPlainName(options.bucket)) {
    return InvalidArgument("bucket \"{}\": expected letters, digits, `-`, `_` and `.`",
                           options.bucket);
  }
  if (!IsPlainName(options.region)) {
    return InvalidArgument("region \"{}\": expected letters, digits and `-`", options.region);
  }
  if (options.credentials.access_key.empty() || options.credentials.secret_key.empty()) {
    return InvalidArgument("the object store {} needs credentials", options.endpoint);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<disk::ObjectStore>> OpenS3Store(const S3Options& options) {
  TS_RETURN_IF_ERROR(CheckS3Options(options));
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialised != CURLE_OK) return Internal("libcurl: {}", curl_easy_strerror(initialised));
  return std::make_shared<S3Store>(options);
}

}  // namespace tickstack::s3
