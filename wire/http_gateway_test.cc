#include "wire/http_gateway.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/logging.h"
#include "base/owned_fd.h"
#include "base/status.h"
#include "wire/authenticator_for_test.h"
#include "wire/codec.h"
#include "wire/event_hub.h"
#include "wire/listener_options.h"
#include "wire/server.h"

namespace tickstack::wire {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Answers each question with itself, except `wait` (never) and `leave` (closes the connection).
class Process final : public ServerHandler {
 public:
  void OnOpened(Connection& connection) override { users.push_back(connection.user()); }
  void OnMessage(Connection& connection, const ReceivedMessage& message) override {
    const absl::StatusOr<Value> value = Decode(message.body);
    ASSERT_TRUE(value.ok());
    asked.emplace_back(value->text());
    const ReplyTicket ticket = connection.TakeTicket();
    if (value->text() == "wait") return;
    if (value->text() == "leave") return connection.Close(absl::OkStatus());
    if (value->text() == "wrong") return connection.ReplyError(ticket, "type");
    if (value->text() == "1+`a") return connection.ReplyError(ticket, "type", 1);
    connection.Reply(ticket, *value);
  }
  void OnClosed(Connection&, const absl::Status&) override { ++closed; }

  std::vector<std::string> users, asked;
  int closed = 0;
};

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Sends bytes and reads until the server closes the connection, or until `enough` bytes. Blocks.
class RawClient {
 public:
  // `receive_bytes`: size of the kernel's receive buffer; 0: the kernel decides.
  explicit RawClient(uint16_t port, int receive_bytes = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes > 0) {
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    const sockaddr_in address = Loopback(port);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
  }
  void Send(std::string_view bytes) {
    ASSERT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Drops what has arrived.
  void Drain() {
    char block[4096];
    while (::recv(socket_.get(), block, sizeof block, MSG_DONTWAIT) > 0) continue;
  }
  std::string Receive(size_t enough = SIZE_MAX) {
    std::string all;
    char block[4096];
    while (all.size() < enough) {
      const ssize_t got = ::recv(socket_.get(), block, sizeof block, 0);
      if (got <= 0) break;
      all.append(block, static_cast<size_t>(got));
    }
    return all;
  }

 private:
  OwnedFd socket_;
};

class HttpGatewayTest : public testing::Test {
 protected:
  void Listen(ServerOptions options = {}) {
    InitLogging("test", LogLevel::kOff);
    server_ = *Server::Listen(loop_, {"127.0.0.1", 0, ""}, options, &process_);
  }
  // Runs a client while the loop runs.
  template <typename F>
  void Beside(F client) {
    std::atomic<bool> done = false;
    std::thread thread([&] {
      client();
      done = true;
      loop_.Post([] {});
    });
    EXPECT_TRUE(loop_.RunUntil([&] { return done.load(); }, 60s));
    thread.join();
  }
  std::string Ask(std::string_view request) {
    std::string answer;
    Beside([&] {
      RawClient client(server_->port());
      client.Send(request);
      answer = client.Receive();
    });
    return answer;
  }
  static std::string Get(std::string_view target, std::string_view more = "") {
    return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}\r\n", target,
                       more);
  }

  // A request whose connection is kept, of a user of UsersByName.
  static std::string KeptGet(std::string_view target, std::string_view user) {
    return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", target,
                       user.empty() ? "" : fmt::format("Authorization: Basic {}\r\n", user));
  }
  // Blocks until the process has been asked `count` questions. Not for the loop's thread.
  void AwaitQuestions(size_t count) {
    std::atomic<size_t> asked = 0;
    while (asked < count) {
      // The loop's thread may still use it when its value is known.
      const auto now = std::make_shared<std::promise<size_t>>();
      loop_.Post([this, now] { now->set_value(process_.asked.size()); });
      asked = now->get_future().get();
      std::this_thread::sleep_for(1ms);
    }
  }
  // Names with the password `pw`, in base64.
  static constexpr std::string_view kBob = "Ym9iOnB3",
                                    kCarol = "Y2Fyb2w6cHc=", kDave = "ZGF2ZTpwdw==",
                                    kErin = "ZXJpbjpwdw==", kBoss = "Ym9zczpwdw==";

  EventLoop loop_;
  Process process_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpGatewayTest, AsksTheProcessAndRendersItsAnswer) {
  Listen();
  const std::string answer = Ask(Get("/.json?count%20trade"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\n\"count trade\"\n"));
  EXPECT_THAT(process_.asked, testing::ElementsAre("count trade"));
  EXPECT_THAT(Ask(Get("/?wrong")), StartsWith("HTTP/1.1 400 "));
}

TEST_F(HttpGatewayTest, AnErrorInJsonHasItsPosition) {
  Listen();
  for (const std::string_view form : {"json", "grid"}) {
    EXPECT_THAT(Ask(Get(fmt::format("/.{}?1+%60a", form))),
                EndsWith("\r\n\r\n{\"error\":\"'type\",\"position\":1}\n"));
    EXPECT_THAT(Ask(Get(fmt::format("/.{}?wrong", form))),
                EndsWith("\r\n\r\n{\"error\":\"'type\"}\n"));
  }
  EXPECT_THAT(Ask(Get("/.csv?1+%60a")), EndsWith("\r\n\r\n'type\n"));
  EXPECT_THAT(Ask(Get("/?1+%60a")), HasSubstr(">&#39;type</p>"));
}

TEST_F(HttpGatewayTest, WritesNoParquetWithoutAWriter) {
  Listen();
  const std::string refused = Ask(Get("/.parquet?wait%20a%20bit"));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(refused, HasSubstr("Content-Type: text/plain"));
  EXPECT_THAT(refused, EndsWith("this process writes no Parquet\n"));
}

class FixedStatus final : public StatusSource {
 public:
  std::span<const PageFile> Files() const override {
    static constexpr PageFile kFiles[] = {{"/", "text/html", "<p>home"},
                                          {"/page/a.js", "text/javascript", "let a;"}};
    return kFiles;
  }
  absl::StatusOr<std::string> FormatParquet(const Value& table) const override {
    if (table.text() == "list") return InvalidArgument("column a: a list");
    return std::string("PAR1");
  }
  Render Collect(StatusPage page) override {
    return [page] {
      if (page == StatusPage::kReady) {
        return StatusReply{.ok = false, .text = "not ready: x\n", .public_text = "not ready\n"};
      }
      return StatusReply{.ok = true, .text = page == StatusPage::kMetrics ? "a 1\n" : "alive\n"};
    };
  }
};

class StatusPagesTest : public HttpGatewayTest {
 protected:
  ServerOptions WithPages() {
    ServerOptions options;
    options.http_options.status = &status_;
    options.http_options.status_loop = &loop_;
    return options;
  }
  FixedStatus status_;
};

TEST_F(StatusPagesTest, AreAnsweredWithoutAQuestionToTheProcess) {
  Listen(WithPages());
  const std::string metrics = Ask(Get("/metrics"));
  EXPECT_THAT(metrics, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(metrics, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(metrics, EndsWith("\r\n\r\na 1\n"));
  EXPECT_THAT(Ask(Get("/healthz")), EndsWith("\r\n\r\nalive\n"));
  const std::string ready = Ask(Get("/readyz"));
  EXPECT_THAT(ready, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(ready, EndsWith("\r\n\r\nnot ready: x\n"));
  EXPECT_THAT(process_.asked, testing::IsEmpty());
}

TEST_F(StatusPagesTest, TheProcessWritesParquet) {
  Listen(WithPages());
  const std::string file = Ask(Get("/day.parquet?table"));
  EXPECT_THAT(file, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(file, HasSubstr("Content-Type: application/vnd.apache.parquet\r\n"));
  EXPECT_THAT(file, HasSubstr("filename=\"day.parquet\""));
  EXPECT_THAT(file, EndsWith("\r\n\r\nPAR1"));
  const std::string refused = Ask(Get("/day.parquet?list"));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(refused, HasSubstr("Content-Type: text/plain"));
  EXPECT_THAT(refused, EndsWith("column a: a list\n"));
}

TEST_F(StatusPagesTest, HealthNeedsNoLoginAndMetricsDo) {
  ServerOptions options = WithPages();
  options.authenticator = std::make_shared<OneUser>("prometheus", "secret");
  Listen(options);
  EXPECT_THAT(Ask(Get("/healthz")), StartsWith("HTTP/1.1 200 "));
  const std::string ready = Ask(Get("/readyz"));
  EXPECT_THAT(ready, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(ready, EndsWith("\r\n\r\nnot ready\n"));  // Reasons may name tables.
  EXPECT_THAT(Ask(Get("/metrics")), StartsWith("HTTP/1.1 401 "));
  // The user and the password, as curl --user sends them.
  const std::string login = "Authorization: Basic cHJvbWV0aGV1czpzZWNyZXQ=\r\n";
  EXPECT_THAT(Ask(Get("/metrics", login)), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Ask(Get("/readyz", login)), EndsWith("\r\n\r\nnot ready: x\n"));
  // A wrong password.
  const std::string refused = Ask(Get("/readyz", "Authorization: Basic cHJvbWV0aGV1czp4\r\n"));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(refused, EndsWith("\r\n\r\nnot ready\n"));
}

TEST_F(StatusPagesTest, FilesAreServedAsTheyAreUnderTheirOwnPolicy) {
  Listen(WithPages());
  const std::string script = Ask(Get("/page/a.js"));
  EXPECT_THAT(script, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(script, HasSubstr("Content-Type: text/javascript\r\n"));
  EXPECT_THAT(script, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(script, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(script, HasSubstr(fmt::format("Content-Security-Policy: {}\r\n", kPageFilePolicy)));
  EXPECT_THAT(script, EndsWith("\r\n\r\nlet a;"));
  EXPECT_THAT(Ask(Get("/")), EndsWith("\r\n\r\n<p>home"));
  EXPECT_THAT(Ask(Get("/page/b.js")), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(process_.asked, testing::IsEmpty());
}

TEST_F(StatusPagesTest, AQuestionAtTheRootIsStillAQuestion) {
  Listen(WithPages());
  const std::string index = Ask(Get("/?"));
  EXPECT_THAT(index, HasSubstr("style-src 'unsafe-inline'"));
  EXPECT_THAT(index, HasSubstr("<textarea"));
  EXPECT_THAT(Ask("POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                  "Content-Length: 1\r\n\r\n1"),
              HasSubstr("<textarea"));
  EXPECT_THAT(process_.asked, testing::ElementsAre("tables[]", "1"));
}

TEST_F(StatusPagesTest, FilesNeedALogin) {
  ServerOptions options = WithPages();
  options.authenticator = std::make_shared<OneUser>("prometheus", "secret");
  Listen(options);
  for (const std::string_view path : {"/", "/page/a.js"}) {
    const std::string refused = Ask(Get(path));
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 401 "));
    EXPECT_THAT(refused, HasSubstr("WWW-Authenticate: Basic"));
    EXPECT_THAT(refused, HasSubstr("Content-Type: text/plain"));
    EXPECT_THAT(Ask(Get(path, "Authorization: Basic cHJvbWV0aGV1czpzZWNyZXQ=\r\n")),
                StartsWith("HTTP/1.1 200 "));
  }
}

TEST_F(StatusPagesTest, EventsGoOnUntilTheProcessEndsTheConnection) {
  Listen(WithPages());
  Beside([&] {
    RawClient client(server_->port());
    client.Send(Get("/events"));
    std::string stream;
    while (stream.find("data: alive\n\ndata: alive\n\n") == std::string::npos) {
      const std::string more = client.Receive(1);
      ASSERT_FALSE(more.empty()) << stream;
      stream += more;
    }
    EXPECT_THAT(stream, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(stream, HasSubstr("Content-Type: text/event-stream\r\n"));
    EXPECT_THAT(stream, testing::Not(HasSubstr("Content-Length")));
    // As when the user loses its rights.
    loop_.Post([&] {
      for (const auto& connection : server_->Connections()) connection->Close(absl::OkStatus());
    });
    client.Receive();
  });
  EXPECT_EQ(process_.users.size(), 1u) << "listening is a login";
  EXPECT_THAT(process_.asked, testing::IsEmpty());
}

TEST_F(StatusPagesTest, EventsNeedALoginAndAGet) {
  ServerOptions options = WithPages();
  options.authenticator = std::make_shared<OneUser>("prometheus", "secret");
  Listen(options);
  EXPECT_THAT(Ask(Get("/events")), AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("Basic realm")));
  EXPECT_THAT(Ask("HEAD /events HTTP/1.1\r\nHost: localhost\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
}

TEST_F(StatusPagesTest, ListenersThatLeaveMakeRoomForOthers) {
  Listen(WithPages());
  Beside([&] {
    std::vector<std::unique_ptr<RawClient>> clients;
    for (size_t i = 0; i < EventHub::kListenersMax; ++i) {
      clients.push_back(std::make_unique<RawClient>(server_->port()));
      clients.back()->Send(Get("/events"));
      std::string stream;
      while (stream.find("data: ") == std::string::npos) stream += clients.back()->Receive(1);
    }
    const auto ask = [&] {
      RawClient more(server_->port());
      more.Send(Get("/events"));
      return more.Receive(1);
    };
    EXPECT_THAT(ask(), StartsWith("HTTP/1.1 503 "));
    clients.clear();
    while (ask().starts_with("HTTP/1.1 503 ")) std::this_thread::sleep_for(1ms);
  });
}

// Numbers its events, which are larger than all buffers of a connection.
class LargeEvents final : public StatusSource {
 public:
  explicit LargeEvents(size_t bytes) : bytes_(bytes) {}
  Render Collect(StatusPage /*page*/) override {
    return [bytes = bytes_, number = ++events] {
      return StatusReply{.ok = true, .text = fmt::format("{} {:x<{}}", number, "", bytes)};
    };
  }
  std::atomic<int> events = 0;

 private:
  const size_t bytes_;
};

class SlowListenersTest : public HttpGatewayTest {
 protected:
  // Listens on a socket whose connections have send buffers of `buffer_bytes`.
  void ListenWith(LargeEvents& source, int buffer_bytes, ServerOptions options = {}) {
    InitLogging("test", LogLevel::kOff);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
    const sockaddr_in address = Loopback(0);
    ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(socket, 16), 0);
    ListenerOptions listener;
    listener.listen_fd = socket;
    options.http_options.status = &source;
    options.http_options.status_loop = &loop_;
    server_ = *wire::Listen(loop_, listener, options, &process_);
  }

  // Reads to the end of the next event and returns its number. `stream` has bytes that follow it.
  static int NextEvent(RawClient& client, std::string& stream) {
    constexpr std::string_view kBegin = "data: ";
    size_t begin, end;
    while ((begin = stream.find(kBegin)) == std::string::npos ||
           (end = stream.find("\n\n", begin)) == std::string::npos) {
      const std::string more = client.Receive(1);
      if (more.empty()) return -1;
      stream += more;
    }
    const int number = std::stoi(stream.substr(begin + kBegin.size()));
    stream.erase(0, end + 2);
    return number;
  }
};

// Goal: the process keeps no events for a listener that does not read, beyond the one that it is
// sending. Method: while its buffers are full, three more events are made; then the listener reads
// the one that it was sent, and the next one after that is a new one.
TEST_F(SlowListenersTest, GetTheNewestEventWhenTheyReadOn) {
  constexpr int kBufferBytes = 64 << 10;
  LargeEvents source(size_t{1} << 20);
  ListenWith(source, kBufferBytes);
  Beside([&] {
    RawClient deaf(server_->port(), kBufferBytes);
    deaf.Send(Get("/events"));
    while (source.events < 4) std::this_thread::sleep_for(1ms);
    std::string stream;
    EXPECT_EQ(NextEvent(deaf, stream), 1);
    EXPECT_GE(NextEvent(deaf, stream), 4) << "events 2 and 3 were kept for it";
  });
}

TEST_F(SlowListenersTest, AreDisconnectedWhenTheirTimeIsOver) {
  constexpr int kBufferBytes = 16 << 10;
  LargeEvents source(200'000);
  ServerOptions options;
  options.http_options.idle_timeout = 50ms;  // Plus a second for each 100 kB.
  ListenWith(source, kBufferBytes, options);
  RawClient deaf(server_->port(), kBufferBytes);
  deaf.Send(Get("/events"));
  ASSERT_TRUE(loop_.RunUntil([this] { return process_.closed == 1; }, 60s));
  EXPECT_LT(deaf.Receive().size(), 200'000u) << "it gets what its buffers have, and the end";
}

TEST_F(StatusPagesTest, MetricsNeedTheirRightAndHealthDoesNot) {
  ServerOptions options = WithPages();
  options.authenticator = std::make_shared<OneUser>("prometheus", "secret", /*metrics=*/false);
  Listen(options);
  const std::string login = "Authorization: Basic cHJvbWV0aGV1czpzZWNyZXQ=\r\n";
  const std::string denied = Ask(Get("/metrics", login));
  EXPECT_THAT(denied, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(denied, HasSubstr("access: no metrics"));
  EXPECT_THAT(Ask(Get("/events", login)),
              AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("access: no metrics")));
  EXPECT_THAT(Ask(Get("/healthz", login)), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(process_.asked, testing::IsEmpty());
}

TEST_F(StatusPagesTest, TakeGetAndHeadOnly) {
  Listen(WithPages());
  EXPECT_THAT(Ask("POST /page/a.js HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD\r\n")));
  const std::string head =
      Ask("HEAD /page/a.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head, AllOf(HasSubstr("Content-Length: 6\r\n"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(Ask("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              EndsWith("\r\n\r\n"));
}

TEST_F(StatusPagesTest, AreNotThereWithoutASource) {
  Listen();
  EXPECT_THAT(Ask(Get("/metrics")), StartsWith("HTTP/1.1 404 "));
}

TEST_F(HttpGatewayTest, RequestsOfOneClientShareAConnection) {
  Listen();
  Beside([&] {
    RawClient client(server_->port());
    for (int i = 0; i < 3; ++i) {
      client.Send("GET /.txt?1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
      EXPECT_THAT(client.Receive(1), HasSubstr(" 200 "));
    }
  });
  EXPECT_EQ(process_.asked.size(), 3u);
  EXPECT_EQ(process_.users.size(), 1u);
}

TEST_F(HttpGatewayTest, UsersAreThoseOfTheHandshake) {
  ServerOptions options;
  options.authenticator = std::make_shared<OneUser>("user", "pa:ss");
  Listen(options);
  const std::string refused = Ask(Get("/.txt?1"));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(refused, HasSubstr("WWW-Authenticate: Basic"));
  EXPECT_THAT(Ask(Get("/.txt?1", "Authorization: Basic dXNlcjpwYTpzcw==\r\n")),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(process_.users, testing::ElementsAre("user"));
  EXPECT_THAT(Ask(Get("/.txt?1", "Authorization: Bearer user.nein\r\n")),
              StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(Ask(Get("/.txt?1", "Authorization: Basic dXNlcjpuZWlu\r\n")),
              StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(
      Ask(Get("/",
              "Upgrade: websocket\r\nConnection: Upgrade\r\n"
              "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n")),
      StartsWith("HTTP/1.1 401 "));
}

TEST_F(HttpGatewayTest, ABearerTokenIsAUserAndItsPassword) {
  ServerOptions options;
  options.authenticator = std::make_shared<OneUser>("first.last", "se-cret_");
  Listen(options);
  EXPECT_THAT(Ask(Get("/.txt?1", "Authorization: Bearer first.last.se-cret_\r\n")),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(process_.users, testing::ElementsAre("first.last"));
}

TEST_F(HttpGatewayTest, AProcessThatLeavesIsAnError) {
  Listen();
  EXPECT_THAT(Ask(Get("/.txt?leave")), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(Ask(Get("/.txt?1")), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpGatewayTest, AClientThatLeavesTakesItsQuestionWithIt) {
  Listen();
  std::atomic<bool> asked = false;
  Beside([&] {
    RawClient client(server_->port());
    client.Send(Get("/.txt?wait"));
    while (!asked) {
      loop_.Post([&] { asked = asked || process_.asked.size() == 1; });
      std::this_thread::sleep_for(1ms);
    }
  });
  EXPECT_TRUE(loop_.RunUntil([this] { return process_.closed == 1; }, 60s));
}

TEST_F(HttpGatewayTest, SessionsAreBounded) {
  ServerOptions options;
  options.http_options.max_sessions = 2;
  Listen(options);
  Beside([&] {
    RawClient first(server_->port()), second(server_->port()), third(server_->port());
    for (RawClient* client : {&first, &second}) client->Send(Get("/.txt?wait"));
    AwaitQuestions(2);
    third.Send(Get("/.txt?1"));
    EXPECT_THAT(third.Receive(), StartsWith("HTTP/1.1 503 "));
  });
}

// Goal: connections that are kept between two requests keep nobody out, with a login and without.
TEST_F(HttpGatewayTest, SessionsThatWaitForTheirClientKeepNobodyOut) {
  ServerOptions options;
  options.authenticator = std::make_shared<UsersByName>();
  options.http_options.max_sessions = 4;
  Listen(options);
  Beside([&] {
    std::vector<std::unique_ptr<RawClient>> kept;
    for (int i = 0; i < 12; ++i) {
      kept.push_back(std::make_unique<RawClient>(server_->port()));
      const bool has_login = i % 3 == 0;
      kept.back()->Send(KeptGet("/.txt?1", has_login ? kBob : ""));
      EXPECT_THAT(kept.back()->Receive(12),
                  StartsWith(has_login ? "HTTP/1.1 200" : "HTTP/1.1 401"));
    }
    // Strangers are replaced first: of the users, the last ones are there still.
    kept[9]->Drain();
    kept[9]->Send(KeptGet("/.txt?2", kBob));
    EXPECT_THAT(kept[9]->Receive(12), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(kept[1]->Receive(), Not(HasSubstr("200")));
  });
}

// Goal: users who keep sessions busy have bounds, and administrators and health have places.
TEST_F(HttpGatewayTest, BusySessionsOfUsersAreBounded) {
  ServerOptions options;
  options.authenticator = std::make_shared<UsersByName>();
  options.http_options.max_sessions = 8;
  Listen(options);
  Beside([&] {
    std::vector<std::unique_ptr<RawClient>> busy;
    const auto ask = [&](std::string_view user, std::string_view target) {
      busy.push_back(std::make_unique<RawClient>(server_->port()));
      busy.back()->Send(KeptGet(target, user));
      return busy.back().get();
    };
    for (const std::string_view user : {kBob, kBob}) ask(user, "/.txt?wait");
    AwaitQuestions(2);
    EXPECT_THAT(ask(kBob, "/.txt?wait")->Receive(12), StartsWith("HTTP/1.1 503"))
        << "a quarter of the sessions";
    for (const std::string_view user : {kCarol, kCarol, kDave, kDave}) ask(user, "/.txt?wait");
    AwaitQuestions(6);
    EXPECT_THAT(ask(kErin, "/.txt?1")->Receive(12), StartsWith("HTTP/1.1 503"))
        << "three quarters of the sessions";
    EXPECT_THAT(ask(kBoss, "/.txt?1")->Receive(12), StartsWith("HTTP/1.1 200"));
    for (int i = 0; i < 5; ++i) {
      EXPECT_THAT(ask("", "/.txt?1")->Receive(12), StartsWith("HTTP/1.1 401"));
    }
    EXPECT_THAT(ask(kBoss, "/.txt?1")->Receive(12), StartsWith("HTTP/1.1 200"));
  });
}

// A user has places at the process beside those of HTTP, too. The refusal is no 401.
TEST_F(HttpGatewayTest, AUserWithoutAPlaceAtTheProcessIsTold) {
  ServerOptions options;
  options.authenticator = std::make_shared<UsersByName>();
  options.max_connections = 4;
  Listen(options);
  Beside([&] {
    RawClient first(server_->port()), second(server_->port());
    first.Send(KeptGet("/.txt?wait", kBob));
    AwaitQuestions(1);
    second.Send(KeptGet("/.txt?1", kBob));
    const std::string answer = second.Receive(100);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 503"));
  });
}

TEST_F(HttpGatewayTest, ALargeBodyNeedsALogin) {
  ServerOptions options;
  options.authenticator = std::make_shared<UsersByName>();
  options.http_options.max_bodies_bytes = 600'000;
  Listen(options);
  const auto head = [](std::string_view user, size_t bytes) {
    return fmt::format(
        "POST /.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}"
        "Content-Length: {}\r\n\r\n",
        user.empty() ? "" : fmt::format("Authorization: Basic {}\r\n", user), bytes);
  };
  EXPECT_THAT(Ask(head("", 500'000)), StartsWith("HTTP/1.1 401")) << "before its bytes arrive";
  EXPECT_THAT(Ask("POST /.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"),
              StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Ask(head("", 10) + std::string(10, '1')), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Ask(head(kBob, 500'000) + std::string(500'000, 'x')), StartsWith("HTTP/1.1 200"));
  Beside([&] {
    RawClient small(server_->port());
    // The second may log in before the first one, which is refused then.
    std::unique_ptr<RawClient> first;
    std::string answer;
    while (!answer.starts_with("HTTP/1.1 503")) {
      first = std::make_unique<RawClient>(server_->port());
      first->Send(head(kBob, 500'000) + "x");
      RawClient next(server_->port());
      next.Send(head(kBob, 500'000) + std::string(500'000, 'x'));
      answer = next.Receive(12);
    }
    small.Send(head(kBob, 10) + std::string(10, '1'));
    EXPECT_THAT(small.Receive(12), StartsWith("HTTP/1.1 200"));
  });
}

TEST_F(HttpGatewayTest, HeadsThatAreReadInTwoWaysAreRefused) {
  Listen();
  const auto ask = [&](std::string_view line, std::string_view headers) {
    return Ask(fmt::format("{}\r\n{}Connection: close\r\n\r\n", line, headers));
  };
  constexpr std::string_view kHost = "Host: localhost\r\n";
  EXPECT_THAT(ask("GET /.txt?1 HTTP/1.1", kHost), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask("GET http://localhost/.txt?1 HTTP/1.1", kHost), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask("GET HTTP://LOCALHOST/.txt?1 HTTP/1.1", kHost), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask("GET /.txt?1 HTTP/1.0", ""), StartsWith("HTTP/1.0 200 "));
  for (const auto& [line, headers] : {
           std::pair<std::string, std::string>{"GET /.txt?1 HTTP/1.1",
                                               "Host: localhost\r\nHost: localhost\r\n"},
           {"GET /.txt?1 HTTP/1.1", "Host: localhost\r\nhost: evil.example\r\n"},
           {"GET /.txt?1 HTTP/1.1", ""},
           {"GET /.txt?1 HTTP/1.1", "Host: localhost, evil.example\r\n"},
           {"GET /.txt?1 HTTP/1.1", "Host: localhost/x\r\n"},
           {"GET /.txt?1 HTTP/1.1", "Host: user@localhost\r\n"},
           {"GET http://evil.example/.txt?1 HTTP/1.1", std::string(kHost)},
           {"GET ftp://localhost/.txt?1 HTTP/1.1", std::string(kHost)},
           {"GET http:///.txt?1 HTTP/1.1", std::string(kHost)},
           {"GET .txt?1 HTTP/1.1", std::string(kHost)},
           {"GET /.txt?1 HTTP/1.1",
            "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: null\r\n"},
           {"GET /.txt?1 HTTP/1.1",
            "Host: localhost\r\nAuthorization: Basic eDp5\r\nAuthorization: Basic eDp6\r\n"},
           {"GET /.txt?1 HTTP/1.1",
            "Host: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n"},
       }) {
    EXPECT_THAT(ask(line, headers), StartsWith("HTTP/1.1 400 ")) << line << "\n" << headers;
  }
  EXPECT_THAT(ask("GET http://evil.example/.txt?1 HTTP/1.1", "Host: evil.example\r\n"),
              StartsWith("HTTP/1.1 403 "));
  for (const char* line : {"TRACE / HTTP/1.1", "CONNECT localhost:80 HTTP/1.1", "PUT / HTTP/1.1",
                           "OPTIONS * HTTP/1.1", "DELETE / HTTP/1.1"}) {
    EXPECT_THAT(ask(line, kHost), AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("\r\nAllow: GET")))
        << line;
  }
  EXPECT_THAT(ask("BREW / HTTP/1.1", kHost), StartsWith("HTTP/1.1 501 "));
  EXPECT_THAT(Ask("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_TRUE(process_.asked.size() == 4) << process_.asked.size();
}

TEST_F(HttpGatewayTest, ASlowHeadIsClosed) {
  ServerOptions options;
  options.http_options.head_timeout = 50ms;
  Listen(options);
  Beside([&] {
    RawClient first(server_->port());
    first.Send("GET /.txt?1 HTTP/1.1\r\nHost: lo");
    EXPECT_EQ(first.Receive(), "");
    // And after another request of the same client.
    RawClient second(server_->port());
    second.Send("GET /.txt?1 HTTP/1.1\r\nHost: localhost\r\n\r\nGET /.txt?2 HTTP/1.1\r\nHo");
    EXPECT_THAT(second.Receive(), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\"1\"\n")));
  });
}

TEST_F(HttpGatewayTest, ClientsThatAskNothingKeepNobodyOut) {
  ServerOptions options;
  options.http_options.max_sessions = 2;
  options.http_options.head_timeout = 1h;
  Listen(options);
  Beside([&] {
    RawClient first(server_->port()), second(server_->port());
    for (RawClient* client : {&first, &second}) client->Send("GET /.txt?1 HTTP/1.1\r\n");
    for (int i = 0; i < 3; ++i) {
      RawClient third(server_->port());
      third.Send(Get("/.txt?1"));
      EXPECT_THAT(third.Receive(), StartsWith("HTTP/1.1 200 "));
    }
    EXPECT_EQ(first.Receive(), "");
  });
}

TEST_F(HttpGatewayTest, AnswersBeyondTheBoundAreRefused) {
  ServerOptions options;
  options.http_options.max_request_bytes = size_t{64} << 20;
  options.http_options.max_answer_bytes = 20'000'000;
  options.http_options.max_unsent_bytes = 16'000'000;
  Listen(options);
  const auto post = [](size_t bytes) {
    return fmt::format(
        "POST /.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}"
        "\r\n\r\n{}",
        bytes, std::string(bytes, 'x'));
  };
  EXPECT_THAT(Ask(post(21'000'000)), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Ask(post(17'000'000)), StartsWith("HTTP/1.1 503 "));
  Beside([&] {
    RawClient unread(server_->port());
    unread.Send(post(15'900'000));
    EXPECT_THAT(unread.Receive(1), StartsWith("HTTP/1.1 200 "));
    RawClient large(server_->port()), small(server_->port());
    large.Send(post(200'000));
    EXPECT_THAT(large.Receive(), StartsWith("HTTP/1.1 503 "));
    small.Send(post(1000));
    EXPECT_THAT(small.Receive(), StartsWith("HTTP/1.1 200 ")) << "whatever others do not read";
  });
}

TEST_F(HttpGatewayTest, AServerThatEndsTakesItsSessionsAlong) {
  Listen();
  RawClient idle(server_->port()), waiting(server_->port()), silent(server_->port());
  idle.Send("GET /.txt?1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  waiting.Send(Get("/.txt?wait"));
  silent.Send("GET /");
  ASSERT_TRUE(loop_.RunUntil([this] { return process_.asked.size() == 2; }, 60s));
  server_ = nullptr;
  waiting.Receive();
  silent.Receive();
}

}  // namespace
}  // namespace tickstack::wire
