// Goal: sessions begin only between peers that trust each other, and a failure is said by name.
// Method: a server of logins behind TLS, and clients with right and wrong certificates.

#include "wire/tls_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"
#include "wire/client.h"
#include "wire/listener_options.h"
#include "wire/socket_address.h"
#include "wire/tls_for_test.h"

namespace tickstack::wire {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Answers every request with its own bytes.
class Echo final : public ServerHandler {
 public:
  void OnMessage(Connection& connection, const ReceivedMessage& message) override {
    if (message.kind != MessageKind::kSync) return;
    connection.Reply(connection.TakeTicket(),
                     Value::Long(static_cast<int64_t>(message.body.size())));
    connection.Flush();
  }
  void OnClosed(Connection&, const absl::Status&) override {}
};

class TlsTest : public testing::Test {
 protected:
  ~TlsTest() override {
    if (!thread_.joinable()) return;
    loop_.Stop();
    thread_.join();
  }

  void Serve(const TlsServerOptions& files, TlsUse use = TlsUse::kRequired) {
    ListenerOptions listener;
    listener.tls = use;
    listener.tls_files = files;
    absl::StatusOr<std::unique_ptr<Server>> server = Listen(loop_, listener, {}, &echo_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    port_ = server_->port();
    thread_ = std::thread([this] { loop_.Run(); });
  }
  absl::StatusOr<Value> AskOverTls(const TlsClientOptions& options, const Value& request,
                                   const std::string& host = "127.0.0.1") const {
    TS_RETURN_IF_ERROR(SetTlsClientOptions(options));
    return Ask({host, port_, "", true}, request, 60s);
  }
  std::string ErrorOf(const TlsClientOptions& options,
                      const std::string& host = "127.0.0.1") const {
    return std::string(Message(AskOverTls(options, Value::String("x"), host).status()));
  }

  // Returns what a client that sends `sent` without TLS receives.
  std::string PlainAnswer(std::string_view sent) const {
    const SocketAddress to = *ToSocketAddress({"127.0.0.1", port_, ""});
    const OwnedFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), to.get(), to.size()), 0);
    EXPECT_EQ(::send(socket.get(), sent.data(), sent.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(sent.size()));
    std::string received;
    char block[4096];
    for (ssize_t got = 0; (got = ::recv(socket.get(), block, sizeof block, 0)) > 0;) {
      received.append(block, static_cast<size_t>(got));
    }
    return received;
  }

  const TestCertificates certificates_;
  const TlsClientOptions trusting_{.ca = certificates_.ca()};
  Echo echo_;
  EventLoop loop_;
  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
  std::thread thread_;
};

TEST_F(TlsTest, CarriesSmallAndLargeMessages) {
  Serve(certificates_.Issue("server", "IP:127.0.0.1"));
  for (const size_t bytes : {size_t{1}, size_t{16'384}, size_t{4'000'000}}) {
    const absl::StatusOr<Value> answer =
        AskOverTls(trusting_, Value::String(std::string(bytes, 'x')));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->as<int64_t>(), static_cast<int64_t>(bytes + 6));
  }
}

TEST_F(TlsTest, RefusesServersThatCannotBeTrusted) {
  Serve(certificates_.Issue("server", "IP:127.0.0.1"));
  EXPECT_THAT(ErrorOf({.ca = certificates_.other_ca()}), HasSubstr("certificate"));
  EXPECT_THAT(ErrorOf({}), HasSubstr("certificate"));
  EXPECT_THAT(ErrorOf({.ca = certificates_.ca(), .server_name = "elsewhere"}),
              HasSubstr("hostname mismatch"));
  EXPECT_THAT(ErrorOf(trusting_, "localhost"), HasSubstr("hostname mismatch"));
  EXPECT_EQ(ErrorOf(trusting_), "");
}

TEST_F(TlsTest, KnowsAServerByTheNameThatItIsGiven) {
  Serve(certificates_.Issue("server", "DNS:capture.example"));
  EXPECT_EQ(ErrorOf({.ca = certificates_.ca(), .server_name = "capture.example"}), "");
  EXPECT_THAT(ErrorOf(trusting_), HasSubstr("IP address mismatch"));
}

TEST_F(TlsTest, RefusesAnExpiredCertificate) {
  Serve(certificates_.Issue("server", "IP:127.0.0.1", -60));
  EXPECT_THAT(ErrorOf(trusting_), HasSubstr("expired"));
}

TEST_F(TlsTest, APortMayRequireTlsOrTakeBoth) {
  Serve(certificates_.Issue("server", "IP:127.0.0.1"), TlsUse::kOptional);
  EXPECT_EQ(ErrorOf(trusting_), "");
  EXPECT_TRUE(Ask({"127.0.0.1", port_, ""}, Value::String("x"), 60s).ok());
}

// A read that is cancelled before the client sent anything says nothing about the client.
TEST_F(TlsTest, ACancelledReadDoesNotMakeAClientPlain) {
  const std::unique_ptr<Listener> listener =
      MakeTlsListener(loop_.network().Listen(loop_, {"127.0.0.1", 0, ""}).value(),
                      TlsServerContext::Load(certificates_.Issue("server", "IP:127.0.0.1")).value(),
                      TlsUse::kOptional);
  std::unique_ptr<Transport> server;
  listener->AsyncAccept([&](const Transport::ErrorCode&, std::unique_ptr<Transport> accepted) {
    server = std::move(accepted);
  });
  bool connected = false;
  const std::unique_ptr<Transport> client =
      loop_.network()
          .Connect(loop_, {"127.0.0.1", listener->port(), ""},
                   [&](const Transport::ErrorCode&) { connected = true; })
          .value();
  ASSERT_TRUE(loop_.RunUntil([&] { return connected && server != nullptr; }, 60s));
  std::array<std::byte, 100> into;
  std::vector<std::pair<std::string, size_t>> reads;
  const auto read = [&] {
    server->AsyncRead(into, [&](const Transport::ErrorCode& error, size_t bytes) {
      reads.emplace_back(error.category().name(), bytes);
    });
  };
  read();
  server->Cancel();
  ASSERT_TRUE(loop_.RunUntil([&] { return reads.size() == 1; }, 60s));
  const std::string no_session = "\x16 and no session, but long enough to be a record";
  const std::span<const std::byte> bytes = std::as_bytes(std::span(no_session));
  Transport::ErrorCode error;
  EXPECT_EQ(client->TryWrite({&bytes, 1}, error), no_session.size());
  read();
  ASSERT_TRUE(loop_.RunUntil([&] { return reads.size() == 2; }, 60s));
  EXPECT_EQ(reads[1], std::pair(std::string("tls"), size_t{0}));
}

TEST_F(TlsTest, RefusesPlainClientsIfTlsIsRequired) {
  Serve(certificates_.Issue("server", "IP:127.0.0.1"));
  const absl::Status refused = Ask({"127.0.0.1", port_, ""}, Value::String("x"), 60s).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(Message(refused)), HasSubstr("handshake refused: the port requires TLS"));
  for (const auto& [sent, received] :
       {std::pair<std::string, std::string>{"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
        {"PING\r\n", "handshake refused: the port requires TLS\n"},
        {std::string("\0\0\0\x13\0\3\0\0user\0bob\0\0\0", 19), "E"}}) {
    EXPECT_THAT(PlainAnswer(sent), testing::StartsWith(received));
    EXPECT_THAT(PlainAnswer(sent), HasSubstr("the port requires TLS"));
  }
}

TEST_F(TlsTest, AServerWithoutTlsIsNamed) {
  const std::unique_ptr<Server> plain = *Server::Listen(loop_, {"127.0.0.1", 0, ""}, {}, &echo_);
  port_ = plain->port();
  std::atomic<bool> done = false;
  std::string error;
  std::thread asks([&] {
    error = ErrorOf(trusting_);
    done = true;
    loop_.Post([] {});
  });
  EXPECT_TRUE(loop_.RunUntil([&] { return done.load(); }, 60s));
  asks.join();
  EXPECT_THAT(error, HasSubstr("the server does not use TLS on this port"));
}

TEST_F(TlsTest, DemandsCertificatesOfClients) {
  TlsServerOptions files = certificates_.Issue("server", "IP:127.0.0.1");
  files.client_ca = certificates_.ca();
  Serve(files);
  EXPECT_THAT(ErrorOf(trusting_), HasSubstr("certificate required"));
  const TlsServerOptions mine = certificates_.Issue("client", "DNS:client");
  TlsClientOptions known = trusting_;
  known.certificate = mine.certificate;
  known.key = mine.key;
  EXPECT_EQ(ErrorOf(known), "");
}

TEST_F(TlsTest, UsesARenewedCertificateWithoutARestart) {
  const TlsServerOptions files = certificates_.Issue("server", "IP:127.0.0.1", -60);
  Serve(files);
  EXPECT_THAT(ErrorOf(trusting_), HasSubstr("expired"));
  // A file that cannot be used does no harm.
  {
    std::ofstream(files.key) << "no key";
  }
  std::this_thread::sleep_for(1100ms);  // It looks once a second.
  EXPECT_THAT(ErrorOf(trusting_), HasSubstr("expired"));
  certificates_.Issue("server", "IP:127.0.0.1");
  std::this_thread::sleep_for(1100ms);
  EXPECT_EQ(ErrorOf(trusting_), "");
}

TEST_F(TlsTest, NamesTheFileThatIsWrong) {
  const TlsServerOptions files = certificates_.Issue("server", "IP:127.0.0.1");
  const TlsServerOptions other = certificates_.Issue("other", "IP:127.0.0.1");
  const auto error = [](const TlsServerOptions& options) {
    return std::string(Message(TlsServerContext::Load(options).status()));
  };
  EXPECT_THAT(error({"/no/file", files.key, ""}), HasSubstr("/no/file: expected a certificate"));
  EXPECT_THAT(error({files.certificate, files.certificate, ""}),
              HasSubstr(files.certificate + ": expected the private key"));
  EXPECT_THAT(error({files.certificate, files.certificate, ""}), HasSubstr("it has a certificate"));
  EXPECT_THAT(error({files.key, files.key, ""}), HasSubstr("it has a private key"));
  EXPECT_THAT(error({"/no/file", files.key, ""}), HasSubstr("No such file or directory"));
  EXPECT_THAT(error({files.certificate, other.key, ""}),
              HasSubstr(other.key + ": expected the private key of " + files.certificate +
                        ", found another key: `openssl pkey"));
  const std::string locked = files.key + ".locked";
  std::ofstream(locked) << "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMA==\n"
                           "-----END ENCRYPTED PRIVATE KEY-----\n";
  EXPECT_THAT(error({files.certificate, locked, ""}),
              HasSubstr("has a password, remove it with `openssl pkey -in " + locked));
  const std::string text = files.key + ".text";
  std::ofstream(text) << "a key";
  EXPECT_THAT(error({files.certificate, text, ""}), HasSubstr("it is no PEM"));
  std::ofstream(text, std::ios::trunc) << "0 bytes of DER";
  EXPECT_THAT(error({files.certificate, text, ""}), HasSubstr("openssl pkey -inform DER"));
  std::ofstream(text, std::ios::trunc) << "";
  EXPECT_THAT(error({files.certificate, text, ""}), HasSubstr("it is empty"));
  EXPECT_THAT(error({files.certificate, files.key, files.key}), HasSubstr("expected certificates"));
  EXPECT_EQ(SetTlsClientOptions({.ca = "/no/file"}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tickstack::wire
