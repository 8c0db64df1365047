// Goal: a login that etcd has forgotten costs one request, not the leadership, and whatever etcd
// refuses is said by name. Method: fake members that answer as etcd 3.4 does.

#include "tickerplant/cluster/etcd_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "base/logging.h"
#include "base/status.h"
#include "security/private_file.h"
#include "wire/tls_for_test.h"

namespace tickstack::tickerplant {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kPassword = R"(pass"word\)";

// A member of etcd with one user. Its fields are guarded by its mutex.
class FakeEtcd {
 public:
  FakeEtcd() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeEtcd() { Stop(); }

  // Refuses connections from now on.
  void Stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex);
      stop_ = true;
      ::shutdown(listener_, SHUT_RDWR);
      if (client_ >= 0) ::shutdown(client_, SHUT_RDWR);
    }
    thread_.join();
    ::close(listener_);
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  int logins() {
    const std::lock_guard lock(mutex);
    return logins_;
  }
  int requests() {
    const std::lock_guard lock(mutex);
    return requests_;
  }

  std::mutex mutex;
  bool has_auth = true;
  bool has_client_certificates = false;  // Takes a request without a token for another user's.
  bool permits = true;
  bool knows_no_token = false;                 // Refuses also the token that it has just given.
  std::string password = R"("pass\"word\\")";  // As in JSON.
  std::string token = "t.1";
  std::chrono::milliseconds login_takes{0};

 private:
  struct Answer {
    int code;
    std::string body;
  };

  void Serve() {
    while (true) {
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      {
        const std::lock_guard lock(mutex);
        if (stop_) {
          ::close(client);
          return;
        }
        client_ = client;
      }
      ServeClient(client);
      const std::lock_guard lock(mutex);
      ::close(std::exchange(client_, -1));
    }
  }
  void ServeClient(int client) {
    std::string text;
    while (true) {
      const size_t head = text.find("\r\n\r\n");
      const size_t length = text.find("Content-Length: ");
      if (head != std::string::npos && length < head) {
        const size_t end = head + 4 + std::stoul(text.substr(length + 16));
        if (text.size() >= end) {
          const Answer answer = AnswerTo(text.substr(0, head), text.substr(head + 4, end));
          text.erase(0, end);
          const std::string reply = fmt::format("HTTP/1.1 {} -\r\nContent-Length: {}\r\n\r\n{}",
                                                answer.code, answer.body.size(), answer.body);
          if (::send(client, reply.data(), reply.size(), MSG_NOSIGNAL) < 0) return;
          continue;
        }
      }
      std::array<char, 4096> bytes{};
      const ssize_t received = ::recv(client, bytes.data(), bytes.size(), 0);
      if (received <= 0) return;
      text.append(bytes.data(), static_cast<size_t>(received));
    }
  }
  static Answer Refuse(int code, std::string_view text, int grpc) {
    return {code, fmt::format(R"({{"error":"{0}","message":"{0}","code":{1}}})", text, grpc)};
  }
  Answer AnswerTo(const std::string& head, const std::string& body) {
    std::unique_lock lock(mutex);
    ++requests_;
    if (head.starts_with("POST /v3/auth/authenticate ")) {
      ++logins_;
      const std::chrono::milliseconds takes = login_takes;
      lock.unlock();
      std::this_thread::sleep_for(takes);
      lock.lock();
      if (!has_auth) return Refuse(400, "etcdserver: authentication is not enabled", 9);
      if (body != fmt::format(R"({{"name":"tick","password":{}}})", password)) {
        return Refuse(400, "etcdserver: authentication failed, invalid user ID or password", 3);
      }
      return {200, fmt::format(R"({{"header":{{"revision":"1"}},"token":"{}"}})", token)};
    }
    const size_t at = head.find("Authorization: ");
    if (has_auth && at == std::string::npos && has_client_certificates) {
      return Refuse(403, "etcdserver: permission denied", 7);
    }
    if (has_auth && at == std::string::npos)
      return Refuse(400, "etcdserver: user name is empty", 3);
    const bool knows = !knows_no_token && at != std::string::npos &&
                       head.substr(at + 15, head.find('\r', at) - at - 15) == token;
    if (has_auth && !knows) return Refuse(401, "etcdserver: invalid auth token", 16);
    if (!permits) return Refuse(403, "etcdserver: permission denied", 7);
    return {200, "{}"};
  }

  int listener_ = -1;
  uint16_t port_ = 0;
  int client_ = -1;  // Guarded by mutex, like those below.
  bool stop_ = false;
  int logins_ = 0;
  int requests_ = 0;
  std::thread thread_;  // Last: it uses everything above.
};

class EtcdClientTest : public testing::Test {
 protected:
  EtcdClientTest() {
    InitLogging("test", LogLevel::kOff);
    std::string pattern = testing::TempDir() + "/etcd-client-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    files_.credentials = folder_ + "/etcd.credentials";
    EXPECT_TRUE(
        security::CreatePrivateFile(files_.credentials, fmt::format("tick:{}\n", kPassword)).ok());
  }
  ~EtcdClientTest() override { std::filesystem::remove_all(folder_); }

  EtcdOptions Options(std::vector<std::string> urls) const {
    return {.endpoints = std::move(urls), .key = "/k", .timeout = 5s, .files = files_};
  }
  std::unique_ptr<EtcdClient> Client(std::vector<std::string> urls) const {
    absl::StatusOr<std::unique_ptr<EtcdClient>> client = EtcdClient::Open(Options(std::move(urls)));
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  static absl::Status Ask(EtcdClient& client) { return client.Post("/v3/kv/range", "{}").status(); }

  std::string folder_;
  EtcdFiles files_;
};

TEST_F(EtcdClientTest, LogsInOnceAndAgainWhenItsTokenIsGone) {
  FakeEtcd etcd;
  const auto client = Client({etcd.url()});
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Ask(*client), absl::OkStatus());
  EXPECT_EQ(etcd.logins(), 1);
  {
    const std::lock_guard lock(etcd.mutex);
    etcd.token = "t.2";
  }
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Ask(*client), absl::OkStatus());
  EXPECT_EQ(etcd.logins(), 2);
}

TEST_F(EtcdClientTest, LogsInWhereItWasTakenForAnotherUser) {
  FakeEtcd etcd;
  {
    const std::lock_guard lock(etcd.mutex);
    etcd.has_client_certificates = true;
  }
  EXPECT_EQ(Ask(*Client({etcd.url()})), absl::OkStatus());
  EXPECT_EQ(etcd.logins(), 1);
}

// Goal: logins can be switched on and off at etcd while a client runs.
TEST_F(EtcdClientTest, LogsInOnlyIfEtcdAsksForIt) {
  FakeEtcd etcd;
  const auto set = [&etcd](bool has_auth) {
    const std::lock_guard lock(etcd.mutex);
    etcd.has_auth = has_auth;
  };
  const auto client = Client({etcd.url()});
  set(false);
  ASSERT_EQ(Ask(*client), absl::OkStatus());
  EXPECT_EQ(etcd.logins(), 0);
  set(true);
  ASSERT_EQ(Ask(*client), absl::OkStatus());
  EXPECT_EQ(etcd.logins(), 1);
  set(false);
  ASSERT_EQ(Ask(*client), absl::OkStatus());
}

TEST_F(EtcdClientTest, LogsInAtTheNextMember) {
  FakeEtcd first, second;
  {
    const std::lock_guard lock(second.mutex);
    second.token = "t.2";
  }
  const auto client = Client({first.url(), second.url() + "/"});
  ASSERT_EQ(Ask(*client), absl::OkStatus());
  first.Stop();
  EXPECT_FALSE(Ask(*client).ok());
  EXPECT_EQ(Ask(*client), absl::OkStatus());
  EXPECT_EQ(second.logins(), 1);
}

// Goal: etcd's slow comparison of passwords is not asked for at every request, and no secret is
// in an error.
TEST_F(EtcdClientTest, NamesAWrongPasswordAndTriesItAgainOnlyLater) {
  FakeEtcd etcd;
  {
    const std::lock_guard lock(etcd.mutex);
    etcd.password = R"("other")";
  }
  const auto client = Client({etcd.url()});
  for (int i = 0; i < 3; ++i) {
    const absl::Status refused = Ask(*client);
    EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
    EXPECT_THAT(std::string(Message(refused)),
                AllOf(HasSubstr("etcd at " + etcd.url()), HasSubstr("login of user tick"),
                      HasSubstr("invalid user ID or password"), HasSubstr(files_.credentials),
                      Not(HasSubstr("word\\"))));
  }
  EXPECT_EQ(etcd.logins(), 1);
}

TEST_F(EtcdClientTest, NamesWhatEtcdRefuses) {
  FakeEtcd etcd;
  {
    const std::lock_guard lock(etcd.mutex);
    etcd.permits = false;
  }
  const absl::Status denied = Ask(*Client({etcd.url()}));
  EXPECT_TRUE(absl::IsPermissionDenied(denied)) << denied;
  EXPECT_THAT(std::string(Message(denied)),
              HasSubstr("permission denied for user tick and key /k: expected a role"));
  {
    const std::lock_guard lock(etcd.mutex);
    etcd.knows_no_token = true;
  }
  const int before = etcd.requests();
  EXPECT_THAT(std::string(Message(Ask(*Client({etcd.url()})))), HasSubstr("invalid auth token"));
  EXPECT_EQ(etcd.requests(), before + 3);  // A request, a login, the request again, and no more.
  {
    const std::unique_ptr<EtcdClient> client = Client({etcd.url()});
    EXPECT_FALSE(Ask(*client).ok());
    const int logins = etcd.logins();
    EXPECT_FALSE(Ask(*client).ok());
    EXPECT_EQ(etcd.logins(), logins);  // Not again at once.
  }
  files_.credentials = "";
  EXPECT_THAT(std::string(Message(Ask(*Client({etcd.url()})))),
              HasSubstr("requires a login: expected etcd_credentials"));
}

TEST_F(EtcdClientTest, RefusesToSendAPasswordUnencrypted) {
  const auto error = [this](std::string url) {
    return std::string(
        Message(EtcdClient::Open(Options({"https://a:1", std::move(url)})).status()));
  };
  EXPECT_THAT(error("http://a:1"), HasSubstr("would get the password unencrypted: expected https"));
  EXPECT_EQ(error("http://127.0.0.1:1"), "");
  EXPECT_EQ(error("http://[::1]:1"), "");
  const std::string with_user = error("https://me:secret@a:1");
  EXPECT_THAT(with_user, AllOf(HasSubstr("a URL has a user"), Not(HasSubstr("secret"))));
  files_.credentials = "";
  EXPECT_EQ(error("http://a:1"), "");
}

TEST_F(EtcdClientTest, ALoginHasALimitOfItsOwn) {
  FakeEtcd etcd;
  {
    const std::lock_guard lock(etcd.mutex);
    etcd.login_takes = 1200ms;
  }
  EtcdOptions options = Options({etcd.url()});
  options.timeout = 1s;
  options.login_timeout = 10s;
  EXPECT_EQ(Ask(**EtcdClient::Open(options)), absl::OkStatus());
  options.login_timeout = 300ms;
  const absl::Status late = Ask(**EtcdClient::Open(options));
  EXPECT_TRUE(absl::IsUnavailable(late)) << late;
  EXPECT_THAT(std::string(Message(late)), HasSubstr("login of tick: etcd at"));
}

TEST_F(EtcdClientTest, WrongFilesAreNamedBeforeItConnects) {
  const wire::TestCertificates certificates;
  const wire::TlsServerOptions own = certificates.Issue("own", "DNS:own");
  const wire::TlsServerOptions other = certificates.Issue("other", "DNS:other");
  const std::string readable = folder_ + "/readable";
  ASSERT_TRUE(security::CreatePrivateFile(readable, "tick:word\n").ok());
  std::filesystem::permissions(readable, std::filesystem::perms(0644));
  const std::string odd = folder_ + "/odd";
  ASSERT_TRUE(security::CreatePrivateFile(odd, "word\n").ok());
  const auto error = [this](EtcdFiles files) {
    files_ = std::move(files);
    return std::string(Message(EtcdClient::Open(Options({"https://localhost:1"})).status()));
  };
  EXPECT_EQ(error({certificates.ca(), own.certificate, own.key, ""}), "");
  EXPECT_THAT(error({"/nowhere.pem", "", "", ""}), HasSubstr("etcd: /nowhere.pem: expected"));
  EXPECT_THAT(error({"", "/nowhere.pem", own.key, ""}), HasSubstr("/nowhere.pem"));
  EXPECT_THAT(error({"", own.certificate, other.key, ""}),
              HasSubstr("expected the private key of"));
  EXPECT_THAT(error({"", "", "", "/nowhere"}), HasSubstr("/nowhere"));
  EXPECT_THAT(error({"", "", "", readable}), HasSubstr("chmod 600"));
  EXPECT_THAT(error({"", "", "", odd}),
              AllOf(HasSubstr("one line user:password"), Not(HasSubstr("word\n"))));
}

}  // namespace
}  // namespace tickstack::tickerplant
