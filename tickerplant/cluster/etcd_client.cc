#include "tickerplant/cluster/etcd_client.h"

#include <curl/curl.h>

#include <array>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "security/credentials_file.h"
#include "security/password.h"
#include "tickerplant/cluster/etcd_messages.h"
#include "wire/tls_context.h"

namespace tickstack::tickerplant {
namespace {

constexpr size_t kAnswerBytesMax = size_t{1} << 20;
constexpr long kOk = 200, kUnauthorized = 401, kForbidden = 403;

size_t OnReceived(const char* data, size_t size, size_t count, void* argument) {
  auto& answer = *static_cast<std::string*>(argument);
  if (answer.size() + size * count > kAnswerBytesMax) return 0;
  answer.append(data, size * count);
  return size * count;
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsDenied(long code, std::string_view error) {
  return code == kForbidden || Has(error, "permission denied");
}

// The headers of a request.
class Headers {
 public:
  explicit Headers(const std::string& token) {
    Add("Content-Type: application/json");
    if (token.empty()) return;
    std::string line = "Authorization: " + token;
    Add(line.c_str());
    security::Wipe(line);
  }
  ~Headers() { curl_slist_free_all(list_); }
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
  curl_slist* get() const { return list_; }

 private:
  void Add(const char* line) { list_ = curl_slist_append(list_, line); }
  curl_slist* list_ = nullptr;
};

}  // namespace

absl::Status CheckEtcdFiles(const EtcdFiles& files) {
  if (files == EtcdFiles()) return absl::OkStatus();
  TS_RETURN_IF_ERROR(wire::CheckTlsClientOptions(
      {.ca = files.ca, .certificate = files.certificate, .key = files.key}));
  if (files.credentials.empty()) return absl::OkStatus();
  return security::LoadCredentials(files.credentials).status();
}

absl::StatusOr<std::unique_ptr<EtcdClient>> EtcdClient::Open(EtcdOptions options) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialised != CURLE_OK) return Internal("libcurl: {}", curl_easy_strerror(initialised));
  if (options.endpoints.empty()) return absl::InvalidArgumentError("etcd: no endpoints");
  for (std::string& endpoint : options.endpoints) {
    if (!endpoint.starts_with("http://") && !endpoint.starts_with("https://")) {
      return InvalidArgument("etcd: {} is no URL: expected http://HOST:PORT", endpoint);
    }
    while (endpoint.ends_with('/')) endpoint.pop_back();
    const std::string_view host = std::string_view(endpoint).substr(endpoint.find("//") + 2);
    if (Has(host, "@")) {
      return absl::InvalidArgumentError(
          "etcd: a URL has a user: expected user and password in etcd_credentials");
    }
    const bool is_local =
        host.starts_with("127.") || host.starts_with("localhost:") || host.starts_with("[::1]");
    if (!options.files.credentials.empty() && endpoint.starts_with("http://") && !is_local) {
      return InvalidArgument(
          "etcd: {} would get the password unencrypted: expected https:// with etcd_credentials",
          endpoint);
    }
  }
  TS_RETURN_IF_ERROR(Annotate(CheckEtcdFiles(options.files), "etcd"));
  CURL* const handle = curl_easy_init();
  if (handle == nullptr) return Internal("libcurl has no memory");
  return std::unique_ptr<EtcdClient>(new EtcdClient(std::move(options), handle));
}

EtcdClient::EtcdClient(EtcdOptions options, void* handle)
    : options_(std::move(options)), handle_(handle) {}

EtcdClient::~EtcdClient() {
  curl_easy_cleanup(handle_);
  security::Wipe(token_);
}

absl::StatusOr<std::string> EtcdClient::Post(std::string_view path, const std::string& body) {
  absl::StatusOr<std::string> answer = PostToMember(path, body);
  if (!answer.ok()) endpoint_ = (endpoint_ + 1) % options_.endpoints.size();
  return answer;
}

absl::StatusOr<std::string> EtcdClient::PostToMember(std::string_view path,
                                                     const std::string& body) {
  TS_ASSIGN_OR_RETURN(Answer answer, Send(path, body, options_.timeout));
  if (AsksForLogin(answer) && !options_.files.credentials.empty()) {
    TS_RETURN_IF_ERROR(LogIn());
    TS_ASSIGN_OR_RETURN(answer, Send(path, body, options_.timeout));
    // Each login costs etcd much, so one whose token is refused is not repeated at once.
    if (AsksForLogin(answer)) refused_ = ErrorOf(answer);
  }
  if (answer.code != kOk) return ErrorOf(answer);
  return std::move(answer.body);
}

absl::Status EtcdClient::LogIn() {
  const int64_t now_ns = SystemClock::Instance().MonotonicNs();
  if (!refused_.ok() && now_ns < next_login_ns_) return refused_;
  security::Wipe(token_);
  absl::Status done = TryToLogIn();
  refused_ = absl::IsPermissionDenied(done) ? done : absl::OkStatus();
  next_login_ns_ = now_ns + std::chrono::nanoseconds(kLoginPause).count();
  return done;
}

absl::Status EtcdClient::TryToLogIn() {
  const std::string& file = options_.files.credentials;
  TS_ASSIGN_OR_RETURN(const security::FileCredentials credentials, security::LoadCredentials(file));
  user_ = credentials.user;
  std::string request = etcd::LoginRequest(user_, credentials.password.text());
  absl::StatusOr<Answer> answer = Send("/v3/auth/authenticate", request, options_.login_timeout);
  security::Wipe(request);
  if (!answer.ok()) return Annotate(answer.status(), fmt::format("login of {}", user_));

  const std::string_view error = etcd::ErrorText(answer->body);
  if (answer->code == kOk) {
    absl::StatusOr<std::string> token = etcd::ParseLogin(answer->body);
    security::Wipe(answer->body);
    if (!token.ok()) return Annotate(token.status(), fmt::format("etcd at {}", endpoint()));
    token_ = *std::move(token);
    LogInfo("logged in at the election store member={} user={}", endpoint(), user_);
    return absl::OkStatus();
  }
  if (Has(error, "authentication is not enabled")) return absl::OkStatus();
  if (Has(error, "authentication failed")) {
    return PermissionDenied(
        "etcd at {}: it refuses the login of user {}: {}: expected the user and password of etcd "
        "in {}",
        endpoint(), user_, error, file);
  }
  return Unavailable("etcd at {}: login of {}: status {}: {}", endpoint(), user_, answer->code,
                     error);
}

// True if etcd refused a request because it has no token, or one that etcd does not know any more.
// etcd has changed nothing then.
bool EtcdClient::AsksForLogin(const Answer& answer) const {
  const std::string_view error = etcd::ErrorText(answer.body);
  if (answer.code == kOk) return false;
  // An etcd that asks for certificates takes a request without a token for one of the user that its
  // own certificate names.
  if (token_.empty() && IsDenied(answer.code, error)) return true;
  return answer.code == kUnauthorized || Has(error, "invalid auth token") ||
         Has(error, "user name is empty") || Has(error, "revision of auth store is old");
}

// The error that etcd answered with.
absl::Status EtcdClient::ErrorOf(const Answer& answer) const {
  const std::string_view error = etcd::ErrorText(answer.body);
  if (AsksForLogin(answer) && options_.files.credentials.empty()) {
    return PermissionDenied(
        "etcd at {}: {}: it requires a login: expected etcd_credentials in [replication]",
        endpoint(), error);
  }
  if (IsDenied(answer.code, error)) {
    return PermissionDenied(
        "etcd at {}: permission denied for user {} and key {}: expected a role that may read and "
        "write this key",
        endpoint(), user_, options_.key);
  }
  if (Has(error, "CommonName")) {
    return PermissionDenied(
        "etcd at {}: it refuses the subject of {}: {}: expected one without a CN", endpoint(),
        options_.files.certificate, error);
  }
  return Unavailable("etcd at {}: status {}: {}", endpoint(), answer.code, error);
}

// The error of a request that got no answer. `reason` is libcurl's.
absl::Status EtcdClient::NotSent(int result, std::string_view reason) const {
  if (result == CURLE_PEER_FAILED_VERIFICATION) {
    return Unavailable(
        "etcd at {}: its certificate is not trusted: {}: expected one for this host, signed by {}",
        endpoint(), reason,
        options_.files.ca.empty() ? "a CA that the system trusts" : options_.files.ca);
  }
  for (const std::string_view alert : {"certificate required", "bad certificate", "unknown ca"}) {
    if (!Has(reason, alert)) continue;
    return Unavailable(
        "etcd at {}: it refuses this client's certificate: {}: expected etcd_certificate to be "
        "signed by a CA that etcd trusts, found {}",
        endpoint(), reason,
        options_.files.certificate.empty() ? "none" : options_.files.certificate);
  }
  return Unavailable("etcd at {}: {}", endpoint(), reason);
}

absl::StatusOr<EtcdClient::Answer> EtcdClient::Send(std::string_view path, const std::string& body,
                                                    std::chrono::milliseconds timeout) {
  const std::string url = fmt::format("{}{}", endpoint(), path);
  const EtcdFiles& files = options_.files;
  const Headers headers(token_);
  std::array<char, CURL_ERROR_SIZE> reason{};
  Answer answer;
  CURL* const handle = handle_;
  curl_easy_reset(handle);  // Connections stay open.
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);  // Does not wait for a name server.
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, reason.data());
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &OnReceived);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  curl_easy_setopt(handle, CURLOPT_CA_CACHE_TIMEOUT, 0L);  // A renewed CA is used at once.
  if (!files.ca.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, files.ca.c_str());
    // Otherwise the CAs of the system are trusted, too.
    curl_easy_setopt(handle, CURLOPT_CAPATH, nullptr);
  }
  if (!files.certificate.empty()) {
    curl_easy_setopt(handle, CURLOPT_SSLCERT, files.certificate.c_str());
    curl_easy_setopt(handle, CURLOPT_SSLKEY, files.key.c_str());
  }
  const CURLcode result = curl_easy_perform(handle);
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.code);
  curl_easy_reset(handle);  // It must not refer to this function's variables any more.
  if (result == CURLE_OK) return answer;
  return NotSent(result, reason[0] != '\0' ? reason.data() : curl_easy_strerror(result));
}

}  // namespace tickstack::tickerplant
