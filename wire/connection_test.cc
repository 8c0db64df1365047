#include "wire/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"
#include "wire/authenticator_for_test.h"
#include "wire/client.h"
#include "wire/codec.h"
#include "wire/compress.h"
#include "wire/connection_counts.h"
#include "wire/foreign_protocol.h"
#include "wire/link_credentials.h"
#include "wire/server.h"
#include "wire/socket_address.h"

namespace tickstack::wire {
namespace {

using namespace std::chrono_literals;

// A server that records what arrives and answers sync requests with themselves.
class Echo : public ServerHandler {
 public:
  void OnOpened(Connection& connection) override {
    opened.push_back(connection.shared_from_this());
  }
  void OnMessage(Connection& connection, const ReceivedMessage& message) override {
    const absl::StatusOr<Value> value = Decode(message.body);
    got.push_back(value.ok() ? *value : Value::Error(Message(value.status())));
    if (message.kind == MessageKind::kSync) Answer(connection, got.back());
  }
  void OnDrained(Connection&) override { ++drained; }
  void OnClosed(Connection&, const absl::Status& why) override { closed.push_back(why); }
  virtual void Answer(Connection& connection, const Value& value) {
    connection.Reply(connection.TakeTicket(), value);
  }

  std::vector<std::shared_ptr<Connection>> opened;
  std::vector<Value> got;
  std::vector<absl::Status> closed;
  int drained = 0;
};

class Caller : public ClientHandler {
 public:
  void OnConnected(Connection& connection) override {
    ++connected;
    if (on_connected) on_connected(connection);
  }
  void OnMessage(Connection&, const ReceivedMessage& message) override {
    got.push_back(*Decode(message.body));
  }
  void OnClosed(Connection&, const absl::Status& why) override { closed.push_back(why); }
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds) override {
    failed.push_back(why);
  }

  std::function<void(Connection&)> on_connected;
  std::vector<Value> got;
  std::vector<absl::Status> closed;
  std::vector<absl::Status> failed;
  int connected = 0;
};

// A server and its clients, on one loop.
class ConnectionTest : public testing::Test {
 protected:
  void Listen(const ServerOptions& options = {}, Echo* handler = nullptr) {
    absl::StatusOr<std::unique_ptr<Server>> listening =
        Server::Listen(loop_, {"127.0.0.1", 0, ""}, options, handler != nullptr ? handler : &echo_);
    ASSERT_TRUE(listening.ok()) << listening.status();
    server_ = *std::move(listening);
  }
  Address address() const { return {"127.0.0.1", server_->port(), ""}; }
  void Connect(const ClientOptions& options = {}) {
    client_ = std::make_unique<Client>(loop_, address(), options, &caller_);
    Until([&] { return client_->connection() != nullptr && !echo_.opened.empty(); });
  }
  void Until(const std::function<bool()>& done) { ASSERT_TRUE(loop_.RunUntil(done, 60s)); }

  // Returns a blocking socket, for bytes that no client of ours would send.
  int RawSocket() {
    const SocketAddress to = *ToSocketAddress(address());
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(socket, to.get(), to.size()), 0);
    return socket;
  }
  static void SendRaw(int socket, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      bytes = bytes.subspan(static_cast<size_t>(sent));
    }
  }
  static void SendRaw(int socket, std::string_view text) { SendRaw(socket, AsBytes(text)); }

  EventLoop loop_;
  Echo echo_;
  Caller caller_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

std::string Handshake(char capability) { return std::string("u:pw") + capability + '\0'; }

TEST_F(ConnectionTest, AnswersASyncRequest) {
  Listen();
  const absl::StatusOr<Value> answer = [&] {
    std::optional<absl::StatusOr<Value>> got;
    Connect();
    client_->connection()->Call(Value::String("1+1"),
                                [&](absl::StatusOr<Value> a) { got = std::move(a); });
    Until([&] { return got.has_value(); });
    return *got;
  }();
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer, Value::String("1+1"));
}

TEST_F(ConnectionTest, HandsOnAsyncMessagesWhileAnAnswerIsPending) {
  class Publisher : public Echo {
    void Answer(Connection& connection, const Value& value) override {
      connection.SendAsync(Value::Symbol("upd"));
      Echo::Answer(connection, value);
    }
  } publisher;
  Listen({}, &publisher);
  client_ = std::make_unique<Client>(loop_, address(), ClientOptions{}, &caller_);
  bool answered = false;
  caller_.on_connected = [&](Connection& connection) {
    connection.Call(Value::Long(1), [&](absl::StatusOr<Value> a) {
      EXPECT_EQ(*a, Value::Long(1));
      EXPECT_EQ(caller_.got.size(), 1u);
      answered = true;
    });
  };
  Until([&] { return answered; });
}

TEST_F(ConnectionTest, SendsDeferredAnswersInTheOrderOfTheRequests) {
  class Deferring : public Echo {
   public:
    void Answer(Connection& connection, const Value& value) override {
      waiting.emplace_back(connection.TakeTicket(), value);
      if (waiting.size() < 3) return;
      for (auto it = waiting.rbegin(); it != waiting.rend(); ++it)
        connection.Reply(it->first, it->second);
    }
    std::vector<std::pair<ReplyTicket, Value>> waiting;
  } deferring;
  Listen({}, &deferring);
  client_ = std::make_unique<Client>(loop_, address(), ClientOptions{}, &caller_);
  std::vector<Value> answers;
  caller_.on_connected = [&](Connection& connection) {
    for (int64_t i = 0; i < 3; ++i) {
      connection.Call(Value::Long(i),
                      [&](absl::StatusOr<Value> a) { answers.push_back(*std::move(a)); });
    }
  };
  Until([&] { return answers.size() == 3; });
  EXPECT_THAT(answers, testing::ElementsAre(Value::Long(0), Value::Long(1), Value::Long(2)));
}

Value Counting(size_t longs) {
  ByteBuffer elements;
  for (size_t i = 0; i < longs; ++i) elements.AppendLittle(static_cast<int64_t>(i));
  return Value::Vector(Type::kLong, std::move(elements));
}

// Answers a number n with n longs, as a stream, and counts the values that it still holds.
class Streaming : public Echo {
 public:
  void Answer(Connection& connection, const Value& value) override {
    ++held;
    const std::shared_ptr<const Value> counting(
        new Value(Counting(static_cast<size_t>(value.as<int64_t>()))), [this](const Value* freed) {
          --held;
          delete freed;
        });
    connection.Reply(connection.TakeTicket(), MakeAnswer(counting, connection.form()));
    held_max = std::max(held_max, held);
  }
  void OnSent(Connection&) override { ++sent; }

  int held = 0, held_max = 0, sent = 0;
};

// Small answers between large ones, followed by messages that the server sends unasked.
TEST_F(ConnectionTest, StreamsLargeAnswersInTheirOrder) {
  Streaming streaming;
  Listen({}, &streaming);
  client_ = std::make_unique<Client>(loop_, address(), ClientOptions{}, &caller_);
  const std::vector<int64_t> longs = {10, 3'000'000, 5, 8'180, 8'190, 1'000'000, 1};
  std::vector<Value> answers;
  caller_.on_connected = [&](Connection& connection) {
    for (const int64_t n : longs) {
      connection.Call(Value::Long(n),
                      [&](absl::StatusOr<Value> a) { answers.push_back(*std::move(a)); });
    }
  };
  Until([&] { return streaming.got.size() == longs.size(); });
  streaming.opened[0]->SendAsync(Value::Long(-1));
  Until([&] { return caller_.got.size() == 1; });
  ASSERT_EQ(answers.size(), longs.size());
  for (size_t i = 0; i < longs.size(); ++i) {
    EXPECT_TRUE(answers[i] == Counting(static_cast<size_t>(longs[i]))) << i;
  }
  EXPECT_EQ(streaming.held, 0);
  EXPECT_GE(streaming.sent, 1);
  EXPECT_EQ(streaming.opened[0]->queued_bytes(), 0u);
}

// Goal: an unread answer occupies its value without a copy, and is freed with its client.
TEST_F(ConnectionTest, FreesAStreamWhenItsReaderLeavesInTheMiddle) {
  Streaming streaming;
  Listen({}, &streaming);
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  SendRaw(socket, EncodeMessage(MessageKind::kSync, Value::Long(8'000'000)));
  Until([&] { return streaming.held == 1; });
  loop_.RunUntil([] { return false; }, 20ms);
  const std::shared_ptr<Connection> connection = streaming.opened[0];
  EXPECT_EQ(streaming.held, 1);
  EXPECT_GT(connection->sent_bytes(), 0u);
  EXPECT_LT(connection->sent_bytes(), size_t{64'000'000});
  EXPECT_LE(connection->queued_bytes(), size_t{2} << 20);
  ::close(socket);
  Until([&] { return streaming.closed.size() == 1; });
  EXPECT_EQ(streaming.held, 0);
}

TEST_F(ConnectionTest, SeesThatAPeerLeftWhileReadingIsPaused) {
  Listen();
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  Until([&] { return echo_.opened.size() == 1; });
  echo_.opened[0]->PauseReading();
  EXPECT_FALSE(echo_.opened[0]->PeerHasClosed());
  ::close(socket);
  Until([&] { return echo_.opened[0]->PeerHasClosed(); });
}

TEST_F(ConnectionTest, PausesAPeerThatAsksFasterThanItIsAnswered) {
  class Silent : public Echo {
    void Answer(Connection& connection, const Value&) override {
      tickets.push_back(connection.TakeTicket());
    }

   public:
    std::vector<ReplyTicket> tickets;
  } silent;
  ServerOptions options;
  options.connection.max_unanswered = 4;
  Listen(options, &silent);
  client_ = std::make_unique<Client>(loop_, address(), ClientOptions{}, &caller_);
  int answered = 0;
  caller_.on_connected = [&](Connection& connection) {
    for (int i = 0; i < 10; ++i)
      connection.Call(Value::Long(i), [&](absl::StatusOr<Value>) { ++answered; });
  };
  Until([&] { return silent.tickets.size() == 4; });
  loop_.RunUntil([] { return false; }, 20ms);
  EXPECT_EQ(silent.tickets.size(), 4u);
  size_t replied = 0;
  Until([&] {
    while (replied < silent.tickets.size())
      silent.opened[0]->Reply(silent.tickets[replied++], Value::Long(0));
    return answered == 10;
  });
}

TEST_F(ConnectionTest, AssemblesMessagesFromSingleBytes) {
  Listen();
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  ByteBuffer two = EncodeMessage(MessageKind::kAsync, Value::String("first"));
  two.Append(EncodeMessage(MessageKind::kAsync, Value::Long(2)).span());
  for (const std::byte& byte : two.span()) {
    SendRaw(socket, {&byte, 1});
    loop_.RunUntil([] { return false; }, 1ms);
  }
  Until([&] { return echo_.got.size() == 2; });
  EXPECT_THAT(echo_.got, testing::ElementsAre(Value::String("first"), Value::Long(2)));
  ::close(socket);
}

// Goal: changing blocks loses and reorders nothing. Method: messages of sizes around the block size
// and far above, in one stream; some of them are kept, so that their blocks cannot be reused.
TEST_F(ConnectionTest, CarriesMessagesOfEverySizeAcrossBlocks) {
  class Keeping : public Echo {
   public:
    void OnMessage(Connection&, const ReceivedMessage& message) override {
      const std::span<const std::byte> body = message.body;
      ++count;
      if (count % 3 == 0) kept.emplace_back(message.owner, body);
      bytes.push_back(body.size());
      good = good && *Decode(body) == Make(body.size() - 6, count - 1);
    }
    static Value Make(size_t size, int number) {
      return Value::String(std::string(size, static_cast<char>('a' + number % 26)));
    }
    std::vector<std::pair<std::shared_ptr<const void>, std::span<const std::byte>>> kept;
    std::vector<size_t> bytes;
    int count = 0;
    bool good = true;
  } keeping;
  Listen({}, &keeping);
  client_ = std::make_unique<Client>(loop_, address(), ClientOptions{}, &caller_);
  const std::vector<size_t> sizes = {1,         100'000, 262'130, 262'131, 3,       262'144,
                                     5'000'000, 1,       70'000,  70'000,  200'000, 9};
  caller_.on_connected = [&](Connection& connection) {
    for (int i = 0; i < static_cast<int>(4 * sizes.size()); ++i) {
      connection.Queue(EncodeMessage(
          MessageKind::kAsync, Keeping::Make(sizes[static_cast<size_t>(i) % sizes.size()], i)));
    }
    connection.Flush();
  };
  Until([&] { return keeping.count == static_cast<int>(4 * sizes.size()); });
  EXPECT_TRUE(keeping.good);
  for (const auto& [owner, body] : keeping.kept) EXPECT_TRUE(Decode(body).ok());
}

TEST_F(ConnectionTest, SendsSegmentsOfSomebodyElsesMemory) {
  Listen();
  Connect();
  auto whole = std::make_shared<ByteBuffer>(
      EncodeMessage(MessageKind::kAsync, Value::String(std::string(50'000, 'x'))));
  const std::vector<Segment> segments = {{whole->span().first(20), whole},
                                         {whole->span().subspan(20, 30'000), whole},
                                         {whole->span().subspan(30'020), whole},
                                         {{}, whole}};
  client_->connection()->Queue(segments);
  client_->connection()->Flush();
  client_->connection()->Queue(std::vector<Segment>{{{}, whole}});
  client_->connection()->Flush();
  EXPECT_EQ(client_->connection()->queued_bytes(), 0u);
  client_->connection()->Send(EncodeMessage(MessageKind::kAsync, Value::Long(7)));
  Until([&] { return echo_.got.size() == 2; });
  EXPECT_EQ(echo_.got[0], Value::String(std::string(50'000, 'x')));
  EXPECT_EQ(echo_.got[1], Value::Long(7));
}

TEST_F(ConnectionTest, ReadsBigEndianAndCompressedMessages) {
  Listen();
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  const std::vector<uint8_t> big = {0, 0, 0, 0, 0, 0, 0, 13, 0xfa, 0, 0, 0, 5};  // 5i
  SendRaw(socket, std::as_bytes(std::span(big)));
  const Value text = Value::String(std::string(10'000, 'q'));
  const std::optional<ByteBuffer> compressed = Compress(EncodeMessage(MessageKind::kAsync, text));
  ASSERT_TRUE(compressed.has_value());
  SendRaw(socket, compressed->span());
  Until([&] { return echo_.got.size() == 2; });
  EXPECT_EQ(echo_.got[0], Value::Int(5));
  EXPECT_EQ(echo_.got[1], text);
  ::close(socket);
}

TEST_F(ConnectionTest, ClosesAtABadHeaderAndLeavesTheOthersAlone) {
  Listen();
  Connect();
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  SendRaw(socket, std::string_view("\x07\x00\x00\x00\x10\x00\x00\x00zzzzzzzz", 16));
  Until([&] { return echo_.closed.size() == 1; });
  EXPECT_EQ(echo_.closed[0].code(), absl::StatusCode::kInvalidArgument);
  client_->connection()->SendAsync(Value::Long(1));
  Until([&] { return echo_.got.size() == 1; });
  ::close(socket);
}

TEST_F(ConnectionTest, RefusesAMessageAboveTheBoundBeforeItsBytesArrive) {
  ServerOptions options;
  options.connection.max_message_bytes = 1000;
  Listen(options);
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  SendRaw(socket, std::string_view("\x01\x00\x00\x00\xe9\x03\x00\x00", 8));  // 1001 bytes
  Until([&] { return echo_.closed.size() == 1; });
  EXPECT_EQ(echo_.closed[0].code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(echo_.closed[0])),
              testing::HasSubstr("1001 bytes, the bound is 1000"));
  ::close(socket);
}

// Goal: whoever takes all places that it can get, the classes above it have theirs.
TEST_F(ConnectionTest, KeepsPlacesForAdministratorsAndTheStack) {
  ServerOptions options;
  options.authenticator = std::make_shared<UsersByName>();
  options.max_connections = 8;
  Listen(options);
  std::vector<OwnedFd> sockets;
  // Returns what the server answers to a login: one byte, or nothing.
  const auto log_in = [&](std::string_view user) {
    sockets.emplace_back(RawSocket());
    SendRaw(sockets.back().get(), fmt::format("{}:pw\3", user) + std::string(1, '\0'));
    char byte = 0;
    ssize_t got = -1;
    Until([&] {
      return (got = ::recv(sockets.back().get(), &byte, 1, MSG_DONTWAIT)) >= 0 ||
             errno == ECONNRESET;
    });
    return got == 1;
  };
  EXPECT_TRUE(log_in("eve"));
  EXPECT_TRUE(log_in("eve"));
  EXPECT_FALSE(log_in("eve")) << "a quarter of the places";
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(log_in(fmt::format("u{}", i)));
  EXPECT_FALSE(log_in("late"));
  EXPECT_TRUE(log_in("boss"));
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(log_in("boss"));
  EXPECT_FALSE(log_in("boss"));
  EXPECT_TRUE(log_in("stack"));
  // A place that becomes free is given away again.
  const size_t opened = echo_.opened.size();
  sockets.erase(sockets.begin());
  Until([&] { return !echo_.closed.empty(); });
  EXPECT_TRUE(log_in("late"));
  EXPECT_EQ(echo_.opened.size(), opened + 1);
}

// Without users, what a link says of itself is believed.
TEST_F(ConnectionTest, ALinkHasAPlaceWithoutUsersToo) {
  ServerOptions options;
  options.max_connections = 1;
  Listen(options);
  Connect();
  Caller other, link;
  ClientOptions once;
  once.reconnect = false;
  Client refused(loop_, address(), once, &other);
  Until([&] { return !other.failed.empty(); });
  ClientOptions of_link;
  of_link.is_link = true;
  Client client(loop_, address(), of_link, &link);
  Until([&] { return link.connected == 1; });
  EXPECT_EQ(echo_.opened.back()->user(), kStackUser);
}

TEST_F(ConnectionTest, APendingLoginOfTheAddressWithMostIsClosed) {
  auto waiting = std::make_shared<WaitingAuthenticator>();
  ServerOptions options;
  options.authenticator = waiting;
  options.max_pending_logins = 3;
  options.handshake_timeout = 1h;
  Listen(options);
  const OwnedFd checked(RawSocket());
  SendRaw(checked.get(), Handshake(3));
  Until([&] { return waiting->verdicts.size() == 1; });
  std::vector<OwnedFd> silent;
  for (int i = 0; i < 10; ++i) silent.emplace_back(RawSocket());
  const auto is_closed = [](const OwnedFd& socket) {
    char byte = 0;
    return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) == 0;
  };
  Until([&] { return is_closed(silent[7]); });
  EXPECT_FALSE(is_closed(checked)) << "it has sent its login";
  waiting->verdicts[0](std::make_shared<RightsForTest>());
  Until([&] { return echo_.opened.size() == 1; });
}

std::string HeaderOfMessage(MessageKind kind, uint64_t total_bytes) {
  std::array<std::byte, kHeaderBytes> header;
  WriteHeader(header.data(), kind, total_bytes);
  return std::string(AsText(header));
}

TEST_F(ConnectionTest, AMessageOfAUserWithoutRightsIsSmall) {
  ServerOptions options;
  options.authenticator = std::make_shared<UsersByName>();
  options.small_message_bytes = 1000;
  Listen(options);
  ClientOptions eve;
  eve.user = "eve";
  eve.password = "pw";
  eve.reconnect = false;
  const Value large = Value::String(std::string(2000, 'x'));
  Connect(eve);
  std::optional<absl::StatusOr<Value>> answer;
  const auto keep = [&](absl::StatusOr<Value> got) { answer = std::move(got); };
  client_->connection()->Call(large, keep);
  Until([&] { return answer.has_value(); });
  EXPECT_THAT(
      std::string(Message(answer->status())),
      testing::HasSubstr(
          "limit: message of 2014 bytes, at most 1000: larger ones need the right to publish"));
  client_->connection()->Call(Value::Long(7), keep);
  answer.reset();
  Until([&] { return answer.has_value(); });
  EXPECT_EQ(answer->value(), Value::Long(7)) << "the connection is there still";
  // Compressed, it declares as much.
  client_->connection()->Send(*Compress(EncodeMessage(MessageKind::kAsync, large)));
  Until([&] { return !caller_.closed.empty(); });
  for (const char* user : {"feed", "boss", "stack"}) {
    client_ = nullptr;
    const size_t opened = echo_.opened.size();
    eve.user = user;
    client_ = std::make_unique<Client>(loop_, address(), eve, &caller_);
    Until([&] { return echo_.opened.size() > opened && client_->connection() != nullptr; });
    answer.reset();
    client_->connection()->Call(large, keep);
    Until([&] { return answer.has_value(); });
    EXPECT_EQ(answer->value(), large) << user;
  }
}

// Goal: the bound of all unfinished messages, and whose is given up. Method: many clients send a
// part of a message each and no more.
TEST_F(ConnectionTest, UnfinishedMessagesHaveOneBound) {
  constexpr size_t kMiB = size_t{1} << 20;
  ServerOptions options;
  options.authenticator = std::make_shared<UsersByName>();
  options.small_message_bytes = 64 * kMiB;
  options.max_unfinished_bytes = 8 * kMiB;
  Listen(options);
  const auto begin = [&](std::string_view user, size_t part) {
    OwnedFd socket(RawSocket());
    SendRaw(socket.get(), fmt::format("{}:pw\3", user) + std::string(1, '\0'));
    const size_t opened = echo_.opened.size();
    Until([&] { return echo_.opened.size() > opened; });
    const std::shared_ptr<Connection> connection = echo_.opened.back();
    const uint64_t before = connection->received_bytes();
    SendRaw(socket.get(), HeaderOfMessage(MessageKind::kAsync, 32 * kMiB));
    const std::string chunk(64 << 10, '\0');
    for (size_t sent = 0; sent < part && connection->is_open(); sent += chunk.size()) {
      SendRaw(socket.get(), chunk);
      Until([&] {
        return connection->received_bytes() >= before + kHeaderBytes + sent + chunk.size() ||
               !connection->is_open();
      });
    }
    return socket;
  };
  const ConnectionCounts& counts = ConnectionCounts::OfProcess();
  const int64_t before = counts.unfinished_bytes;
  const OwnedFd of_feed = begin("feed", kMiB), of_stack = begin("stack", kMiB);
  std::vector<OwnedFd> of_eve;
  for (int i = 0; i < 8; ++i) {
    of_eve.push_back(begin("eve", kMiB));
    EXPECT_LE(counts.unfinished_bytes - before, static_cast<int64_t>(8 * kMiB));
  }
  EXPECT_FALSE(echo_.closed.empty());
  for (const absl::Status& why : echo_.closed) {
    EXPECT_THAT(std::string(Message(why)), testing::HasSubstr("the unfinished messages of all"));
  }
  for (const std::shared_ptr<Connection>& connection : echo_.opened) {
    if (connection->user() != "eve") EXPECT_TRUE(connection->is_open()) << connection->user();
  }
  // A whole message of another client passes.
  const size_t got = echo_.got.size();
  ClientOptions bob;
  bob.user = "bob";
  bob.password = "pw";
  client_ = std::make_unique<Client>(loop_, address(), bob, &caller_);
  Until([&] { return client_->connection() != nullptr; });
  client_->connection()->SendAsync(Value::String(std::string(kMiB, 'x')));
  Until([&] { return echo_.got.size() > got; });
  server_ = nullptr;
  EXPECT_EQ(counts.unfinished_bytes, before);
}

// Goal: a client of another protocol gets a line that its user reads, and then the end.
TEST_F(ConnectionTest, TellsClientsOfOtherProtocols) {
  ServerOptions options;
  options.http = false;
  options.handshake_timeout = 1min;
  const std::string postgres_start("\0\0\0\x13\0\3\0\0user\0bob\0\0\0", 19);
  const std::string postgres_tls("\0\0\0\x08\x04\xd2\x16\x2f", 8);
  for (const auto& [sent, line] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", "expected kdb+ IPC on this port, found nothing within 50 ms"},
           {postgres_start, "found PostgreSQL's protocol"},
           {postgres_tls + postgres_start, "found PostgreSQL's protocol"},
           {"*1\r\n$4\r\nPING\r\n", "-ERR tickstack: expected kdb+ IPC on this port, found Redis'"},
           {"SSH-2.0-OpenSSH_9.2\r\n", "found SSH: connect with a kdb+ client"},
           {"select 1;\n", "found a line of text"},
           {std::string("\x16\x03\x01\x02\0\1\0", 7), "this port does not use TLS"},
           {"GET / HTTP/1.1\r\n\r\n", "this port does not answer HTTP: set http = true"}}) {
    // What a client sends may be read later than this, on a busy machine.
    if (sent.empty()) options.handshake_timeout = 50ms;
    Listen(options);
    options.handshake_timeout = 1min;
    const OwnedFd socket(RawSocket());
    SendRaw(socket.get(), sent);
    std::string received;
    Until([&] {
      char block[4096];
      const ssize_t got = ::recv(socket.get(), block, sizeof block, MSG_DONTWAIT);
      if (got > 0) received.append(block, static_cast<size_t>(got));
      return got == 0;
    });
    EXPECT_THAT(received, testing::HasSubstr(line));
  }
  EXPECT_TRUE(echo_.opened.empty());
}

TEST_F(ConnectionTest, AClientReportsWhyItWasRefused) {
  bool accepted = false;
  std::unique_ptr<Transport> peer;
  const std::unique_ptr<Listener> listener = *loop_.network().Listen(loop_, {"127.0.0.1", 0, ""});
  listener->AsyncAccept([&](const Transport::ErrorCode&, std::unique_ptr<Transport> transport) {
    peer = std::move(transport);
    const std::string refusal = RefusalIn(ForeignProtocol::kKdb, "handshake refused: because");
    for (const std::string_view part :
         {std::string_view(refusal).substr(0, 5), std::string_view(refusal).substr(5)}) {
      const std::span<const std::byte> bytes = AsBytes(part);
      Transport::ErrorCode error;
      peer->TryWrite({&bytes, 1}, error);
    }
    accepted = true;
  });
  client_ = std::make_unique<Client>(loop_, Address{"127.0.0.1", listener->port(), ""},
                                     ClientOptions{}, &caller_);
  Until([&] { return accepted && !caller_.failed.empty(); });
  EXPECT_THAT(std::string(Message(caller_.failed[0])),
              testing::EndsWith(": handshake refused: because"));
  EXPECT_EQ(caller_.connected, 0);
}

// The handler chooses to drop them: plain, compressed, and cut into many reads.
TEST_F(ConnectionTest, DropsMessagesAboveTheBoundIfItsHandlerSaysSo) {
  class Dropping : public Echo {
   public:
    bool OnTooLarge(Connection&, MessageKind kind, uint64_t bytes) override {
      dropped.emplace_back(kind, bytes);
      return true;
    }
    std::vector<std::pair<MessageKind, uint64_t>> dropped;
  } dropping;
  ServerOptions options;
  options.connection.max_message_bytes = 1000;
  Listen(options, &dropping);
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  const ByteBuffer megabyte =
      EncodeMessage(MessageKind::kSync, Value::String(std::string(1 << 20, 'x')));
  const ByteBuffer small = EncodeMessage(MessageKind::kAsync, Value::Long(1));
  ByteBuffer all;
  all.Append(small);
  all.Append(megabyte);
  all.Append(small);
  all.Append(*Compress(EncodeMessage(MessageKind::kAsync, Value::String(std::string(9000, 'x')))));
  all.Append(small);
  all.Append(small.span());
  std::thread writer([&] { SendRaw(socket, all); });
  Until([&] { return dropping.got.size() == 4; });
  writer.join();
  EXPECT_THAT(dropping.dropped,
              testing::ElementsAre(std::pair(MessageKind::kSync, uint64_t{megabyte.size()}),
                                   std::pair(MessageKind::kAsync, uint64_t{9014})));
  // An incomplete one is distinguished from a client that leaves between messages.
  SendRaw(socket, megabyte.span().first(100'000));
  ::shutdown(socket, SHUT_WR);
  Until([&] { return dropping.closed.size() == 1; });
  EXPECT_EQ(dropping.closed[0].code(), absl::StatusCode::kDataLoss);
  ::close(socket);
}

TEST_F(ConnectionTest, ReportsAMessageThatWasCutOff) {
  Listen();
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  SendRaw(socket, std::string_view("\x01\x00\x00\x00\x20\x00\x00\x00zz", 10));
  Until([&] { return echo_.opened.size() == 1 && echo_.opened[0]->received_bytes() == 10; });
  ::shutdown(socket, SHUT_WR);
  Until([&] { return echo_.closed.size() == 1; });
  EXPECT_EQ(echo_.closed[0].code(), absl::StatusCode::kDataLoss);
  ::close(socket);
}

TEST_F(ConnectionTest, AnAnswerThatIsCutOffLeavesItsCallUnavailable) {
  Listen();
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  Until([&] { return echo_.opened.size() == 1; });
  std::optional<absl::Status> answered;
  echo_.opened[0]->Call(Value::Long(1),
                        [&](const absl::StatusOr<Value>& answer) { answered = answer.status(); });
  // The header of an answer of 32 bytes, and two of them.
  SendRaw(socket, std::string_view("\x01\x02\x00\x00\x20\x00\x00\x00zz", 10));
  Until([&] { return echo_.opened[0]->received_bytes() == 10; });
  ::shutdown(socket, SHUT_WR);
  Until([&] { return answered && echo_.closed.size() == 1; });
  EXPECT_EQ(answered->code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(Message(*answered).find("closed inside a message, after 10 bytes"), std::string::npos);
  EXPECT_EQ(echo_.closed[0].code(), absl::StatusCode::kDataLoss);
  ::close(socket);
}

// Keeps what it gets, if it wants it.
class Keeper final : public AnswerSink {
 public:
  bool Begin(size_t bytes) override {
    ++asked;
    total = bytes;
    return takes;
  }
  void Add(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) override {
    pieces.push_back({bytes, owner});
  }
  std::string text() const {
    std::string all;
    for (const Segment& piece : pieces) all += AsText(piece.bytes);
    return all;
  }

  bool takes = true;
  int asked = 0;
  size_t total = 0;
  std::vector<Segment> pieces;
};

TEST_F(ConnectionTest, ALongAnswerGoesToItsSink) {
  Listen();
  Connect();
  const Value large = Value::String(std::string(3 * kForwardedBytesMin, 'x'));
  const Value small = Value::String(std::string(1000, 'y'));
  Keeper long_one, short_one, unwilling;
  unwilling.takes = false;
  std::vector<absl::StatusOr<Value>> answers;
  const auto done = [&answers](absl::StatusOr<Value> answer) { answers.push_back(answer); };
  client_->connection()->Call(small, done, &short_one);
  client_->connection()->Call(large, done, &long_one);
  client_->connection()->Call(large, done, &unwilling);
  client_->connection()->Call(large, done);
  client_->connection()->Call(small, done);
  Until([&] { return answers.size() == 5; });
  for (const absl::StatusOr<Value>& answer : answers) ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(short_one.asked, 0);
  EXPECT_EQ(*answers[0], small);
  EXPECT_EQ(long_one.asked, 1);
  const ByteBuffer whole = EncodeMessage(MessageKind::kResponse, large);
  EXPECT_EQ(long_one.total, whole.size());
  EXPECT_TRUE(long_one.text() == AsText(whole.span()));
  EXPECT_TRUE(answers[1]->is_null());
  EXPECT_EQ(unwilling.asked, 1);
  EXPECT_TRUE(unwilling.pieces.empty());
  EXPECT_TRUE(*answers[2] == large);
  EXPECT_TRUE(*answers[3] == large);
  EXPECT_EQ(*answers[4], small);
}

TEST_F(ConnectionTest, ASinkGetsNoErrorAndNoSecondHalfOfACutAnswer) {
  // Answers with an error of that many bytes, or with half of a text.
  class Ill : public Echo {
   public:
    void Answer(Connection& connection, const Value& value) override {
      const std::string text(2 * kForwardedBytesMin, 'x');
      if (value == Value::Symbol("error")) {
        return connection.Reply(connection.TakeTicket(), Value::Error(text));
      }
      const ByteBuffer whole = EncodeMessage(MessageKind::kResponse, Value::String(text));
      ByteBuffer half;
      half.Append(whole.span().first(whole.size() / 2));
      connection.Send(std::move(half));
      connection.CloseWhenSent(20s);
    }
  } ill;
  Listen({}, &ill);
  client_ = std::make_unique<Client>(loop_, address(), ClientOptions{}, &caller_);
  Until([&] { return client_->connection() != nullptr; });
  Keeper of_error, of_half;
  std::vector<absl::Status> ends;
  const auto done = [&ends](const absl::StatusOr<Value>& answer) {
    ends.push_back(answer.status());
  };
  client_->connection()->Call(Value::Symbol("error"), done, &of_error);
  client_->connection()->Call(Value::Symbol("half"), done, &of_half);
  Until([&] { return ends.size() == 2; });
  EXPECT_EQ(of_error.asked, 0);
  EXPECT_EQ(ends[0].code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(of_half.asked, 1);
  EXPECT_EQ(of_half.text().size(), of_half.total / 2);
  EXPECT_TRUE(absl::IsUnavailable(ends[1])) << ends[1];
}

TEST_F(ConnectionTest, CutsOffASlowReaderAtTheBound) {
  ServerOptions options;
  options.connection.max_queue_bytes = size_t{8} << 20;
  Listen(options);
  const int socket = RawSocket();  // Never reads.
  SendRaw(socket, Handshake(3));
  Until([&] { return echo_.opened.size() == 1; });
  const std::shared_ptr<Connection> slow = echo_.opened[0];
  const ByteBuffer megabyte =
      EncodeMessage(MessageKind::kAsync, Value::String(std::string(1 << 20, 'x')));
  for (int i = 0; i < 100 && slow->is_open(); ++i) {
    slow->Send(megabyte.Clone());
    EXPECT_LE(slow->queued_bytes(), (size_t{8} << 20) + megabyte.size());
  }
  EXPECT_FALSE(slow->is_open());
  Until([&] { return echo_.closed.size() == 1; });
  EXPECT_THAT(std::string(Message(echo_.closed[0])), testing::HasSubstr("slow reader"));
  ::close(socket);
}

TEST_F(ConnectionTest, PausedReadingHandsOnNothingUntilResumed) {
  Listen();
  Connect();
  Until([&] { return echo_.opened.size() == 1; });
  echo_.opened[0]->PauseReading();
  for (int64_t i = 0; i < 100; ++i) client_->connection()->SendAsync(Value::Long(i));
  loop_.RunUntil([] { return false; }, 30ms);
  EXPECT_EQ(echo_.got.size(), 0u);
  echo_.opened[0]->ResumeReading();
  Until([&] { return echo_.got.size() == 100; });
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(echo_.got[static_cast<size_t>(i)], Value::Long(i));
}

TEST_F(ConnectionTest, RefusesCredentialsWithoutAByte) {
  ServerOptions options;
  options.authenticator = std::make_shared<OneUser>("u", "right");
  Listen(options);
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  char byte = 0;
  ssize_t got = -1;
  loop_.RunUntil([&] { return (got = ::recv(socket, &byte, 1, MSG_DONTWAIT)) == 0; }, 60s);
  EXPECT_EQ(got, 0);
  ::close(socket);
  ClientOptions wrong;
  wrong.user = "u";
  wrong.password = "wrong";
  client_ = std::make_unique<Client>(loop_, address(), wrong, &caller_);
  Until([&] { return !caller_.failed.empty(); });
  EXPECT_THAT(std::string(Message(caller_.failed[0])), testing::HasSubstr("refused"));
}

TEST_F(ConnectionTest, CarriesTheRightsOfItsUserAndEndsWithThem) {
  ServerOptions options;
  const auto waiting = std::make_shared<WaitingAuthenticator>();
  options.authenticator = waiting;
  Listen(options);
  ClientOptions client;
  client.user = "u";
  client.password = "p";
  client.reconnect = false;
  client_ = std::make_unique<Client>(loop_, address(), client, &caller_);
  Until([&] { return waiting->logins.size() == 1; });
  EXPECT_EQ(waiting->logins[0].user, "u");
  EXPECT_EQ(waiting->logins[0].password, "p");
  EXPECT_EQ(waiting->logins[0].peer.find("127.0.0.1:"), 0u);
  loop_.RunUntil([] { return false; }, 20ms);
  EXPECT_TRUE(echo_.opened.empty()) << "before the verdict";
  const auto rights = std::make_shared<RightsForTest>();
  // From another thread, as a slow check does.
  std::thread([&] { waiting->verdicts[0](rights); }).join();
  Until([&] { return echo_.opened.size() == 1; });
  EXPECT_EQ(echo_.opened[0]->rights(), rights);
  EXPECT_EQ(echo_.opened[0]->user(), "u");
  rights->current = false;
  Until([&] { return echo_.closed.size() == 1; });
  EXPECT_TRUE(absl::IsPermissionDenied(echo_.closed[0])) << echo_.closed[0];
}

TEST_F(ConnectionTest, AVerdictMayComeAfterTheClientOrTheServer) {
  ServerOptions options;
  const auto waiting = std::make_shared<WaitingAuthenticator>();
  options.authenticator = waiting;
  options.verdict_timeout = 20ms;
  Listen(options);
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  char byte = 0;
  ssize_t got = -1;
  loop_.RunUntil([&] { return (got = ::recv(socket, &byte, 1, MSG_DONTWAIT)) == 0; }, 60s);
  EXPECT_EQ(got, 0) << "a verdict has a time";
  ASSERT_EQ(waiting->verdicts.size(), 1u);
  waiting->verdicts[0](std::make_shared<RightsForTest>());
  loop_.RunUntil([] { return false; }, 20ms);
  EXPECT_TRUE(echo_.opened.empty());
  const int second = RawSocket();
  SendRaw(second, Handshake(3));
  Until([&] { return waiting->verdicts.size() == 2; });
  server_ = nullptr;
  waiting->verdicts[1](std::make_shared<RightsForTest>());
  ::close(socket);
  ::close(second);
}

TEST_F(ConnectionTest, ALinkLogsInWithTheCredentialsOfTheStack) {
  ServerOptions options;
  options.authenticator = std::make_shared<OneUser>("stack", "secret");
  Listen(options);
  SetLinkCredentials([] { return Credentials{"stack", "secret", 0}; });
  ClientOptions client;
  client.user = "feed";
  client.is_link = true;
  client_ = std::make_unique<Client>(loop_, address(), client, &caller_);
  Until([&] { return echo_.opened.size() == 1; });
  EXPECT_EQ(echo_.opened[0]->user(), "stack");
  client.is_link = false;
  client_ = std::make_unique<Client>(loop_, address(), client, &caller_);
  Until([&] { return !caller_.failed.empty(); });
  SetLinkCredentials(nullptr);
}

TEST_F(ConnectionTest, AnswersTheSmallerCapability) {
  Listen();
  for (const auto& [hello, expected] : {std::pair<std::string, char>{Handshake(3), 3},
                                        {Handshake(6), 6},
                                        {std::string("u:pw") + '\0', 0},
                                        {std::string("anonymous\x03") + '\0', 3},
                                        {std::string("u:pw\x1f") + '\0', 6}}) {
    const int socket = RawSocket();
    SendRaw(socket, hello);
    char byte = 77;
    ssize_t got = -1;
    loop_.RunUntil([&] { return (got = ::recv(socket, &byte, 1, MSG_DONTWAIT)) == 1; }, 60s);
    EXPECT_EQ(byte, expected);
    ::close(socket);
  }
}

TEST_F(ConnectionTest, DropsAPendingLoginThatSendsNothing) {
  ServerOptions options;
  options.handshake_timeout = 20ms;
  Listen(options);
  const int socket = RawSocket();
  std::array<char, 4096> line;  // Which tells the client of another protocol.
  ssize_t got = -1;
  loop_.RunUntil(
      [&] {
        while ((got = ::recv(socket, line.data(), line.size(), MSG_DONTWAIT)) > 0) continue;
        return got == 0;
      },
      60s);
  EXPECT_EQ(got, 0);
  ::close(socket);
}

// Goal: the deadline covers the whole login. Method: one byte at each turn of the loop, for ever; a
// deadline for each read would restart each time.
TEST_F(ConnectionTest, DropsALoginThatArrivesByteByByte) {
  ServerOptions options;
  options.handshake_timeout = 50ms;
  Listen(options);
  const int socket = RawSocket();
  char byte = 0;
  int sent = 0;
  loop_.RunUntil(
      [&] {
        if (::recv(socket, &byte, 1, MSG_DONTWAIT) == 0) return true;
        // Fewer bytes than would make the greeting too long.
        if (sent < 100) sent += ::send(socket, "a", 1, MSG_NOSIGNAL) == 1 ? 1 : 0;
        return false;
      },
      60s);
  EXPECT_EQ(::recv(socket, &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_TRUE(echo_.opened.empty());
  ::close(socket);
}

TEST_F(ConnectionTest, GivesALoginThreeSeconds) {
  EXPECT_EQ(ServerOptions().handshake_timeout, 3s);
  EXPECT_EQ(HttpOptions().head_timeout, 3s);
}

TEST_F(ConnectionTest, PendingLoginsKeepNobodyOut) {
  ServerOptions options;
  options.max_connections = 2;
  options.max_pending_logins = 3;
  options.handshake_timeout = 1h;
  Listen(options);
  std::vector<int> silent;
  const auto is_closed = [](int socket) {
    char byte = 0;
    return ::recv(socket, &byte, 1, MSG_DONTWAIT) == 0;
  };
  for (int i = 0; i < 3; ++i) silent.push_back(RawSocket());
  // Silent clients take no place, although they are more than max_connections: this client logs in,
  // and the oldest of them was closed.
  const int socket = RawSocket();
  SendRaw(socket, Handshake(3));
  Until([&] { return echo_.opened.size() == 1; });
  Until([&] { return is_closed(silent[0]); });
  EXPECT_FALSE(is_closed(silent[1]));
  EXPECT_FALSE(is_closed(silent[2]));
  // A client that has logged in stays, however many others connect.
  for (int i = 0; i < 10; ++i) silent.push_back(RawSocket());
  Until([&] { return is_closed(silent[9]); });
  EXPECT_FALSE(is_closed(silent[10]));
  EXPECT_TRUE(echo_.closed.empty());
  for (const int one : silent) ::close(one);
  ::close(socket);
}

TEST_F(ConnectionTest, DropsALoginThatNeverEnds) {
  Listen();
  const int socket = RawSocket();
  SendRaw(socket, std::string(kHeaderBytes + 4096, 'x'));
  char byte = 0;
  ssize_t got = 1;
  loop_.RunUntil(
      [&] { return (got = ::recv(socket, &byte, 1, MSG_DONTWAIT)) <= 0 && errno != EAGAIN; }, 60s);
  EXPECT_LE(got, 0);
  EXPECT_TRUE(echo_.opened.empty());
  ::close(socket);
}

TEST_F(ConnectionTest, ComesBackAfterTheServerDoes) {
  Listen();
  ClientOptions options;
  options.first_pause = 5ms;
  Connect(options);
  const Address where = address();
  bool failed = false;
  caller_.on_connected = [](Connection&) {};
  client_->connection()->Call(Value::Long(1), [](absl::StatusOr<Value>) {});
  server_.reset();
  Until([&] { return caller_.closed.size() == 1 && !caller_.failed.empty(); });
  failed = true;
  server_ = *Server::Listen(loop_, where, {}, &echo_);
  Until([&] { return caller_.connected == 2; });
  EXPECT_TRUE(failed);
}

TEST_F(ConnectionTest, FailsPendingCallsWhenTheConnectionEnds) {
  class Hanging : public Echo {
    void Answer(Connection& connection, const Value&) override {
      connection.Close(absl::OkStatus());
    }
  } hanging;
  Listen({}, &hanging);
  const absl::StatusOr<Value> answer = [&] {
    std::optional<absl::StatusOr<Value>> got;
    client_ = std::make_unique<Client>(loop_, address(), ClientOptions{}, &caller_);
    caller_.on_connected = [&](Connection& connection) {
      if (!got)
        connection.Call(Value::Long(1), [&](absl::StatusOr<Value> a) { got = std::move(a); });
    };
    Until([&] { return got.has_value(); });
    return *got;
  }();
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ConnectionTest, SpeaksOverUnixSocketsToo) {
  Listen();
  const std::string path = testing::TempDir() + fmt::format("tickstack_{}.sock", ::getpid());
  for (const Address& unix_address :
       {Address{"", 0, path}, Address{"", 0, fmt::format("@/tmp/kx.test.{}", ::getpid())}}) {
    ASSERT_TRUE(server_->AlsoListen(unix_address).ok());
    Caller caller;
    Client client(loop_, unix_address, {}, &caller);
    const size_t before = echo_.got.size();
    caller.on_connected = [](Connection& connection) {
      EXPECT_TRUE(connection.is_local());
      connection.SendAsync(Value::Long(3));
    };
    Until([&] { return echo_.got.size() == before + 1; });
  }
  server_.reset();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

// Goal: the socket file of a dead process does not prevent a start, and no other file is removed.
TEST_F(ConnectionTest, ReplacesTheSocketFileOfADeadProcessOnly) {
  Listen();
  const std::string path = testing::TempDir() + fmt::format("tickstack_{}.sock", ::getpid());
  const Address where{"", 0, path};
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), path.size());
  {
    const OwnedFd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  }
  ASSERT_EQ(::access(path.c_str(), F_OK), 0);
  EXPECT_TRUE(server_->AlsoListen(where).ok());
  // Now a process listens on it.
  const absl::Status taken = server_->AlsoListen(where);
  EXPECT_EQ(taken.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Message(taken)),
              testing::HasSubstr(fmt::format("in use by this process (pid {})", ::getpid())));
  server_.reset();

  // A file that is not a socket is kept.
  std::ofstream(path) << "precious";
  Listen();
  EXPECT_FALSE(server_->AlsoListen(where).ok());
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  ::unlink(path.c_str());
}

// Method: the kernel lists a timer of kind 2, keepalive, for both ends of a silent connection.
TEST_F(ConnectionTest, HasTheKernelProbeSilentPeers) {
  Listen();
  Connect();
  std::ifstream table("/proc/net/tcp");
  const std::string port = fmt::format(":{:04X}", server_->port());
  int probed = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer;
    fields >> number >> local >> remote >> state >> queues >> timer;
    if (state != "01" || !(local.ends_with(port) || remote.ends_with(port))) continue;
    probed += timer.starts_with("02:");
  }
  EXPECT_EQ(probed, 2);
}

TEST_F(ConnectionTest, ClosesAfterEverythingQueuedHasLeft) {
  Listen();
  Connect();
  const std::shared_ptr<Connection> connection = client_->connection()->shared_from_this();
  for (int i = 0; i < 50; ++i) {
    connection->Queue(EncodeMessage(MessageKind::kAsync, Value::String(std::string(1 << 20, 'x'))));
  }
  connection->CloseWhenSent(20s);
  Until([&] { return echo_.closed.size() == 1; });
  EXPECT_EQ(echo_.got.size(), 50u);
  EXPECT_TRUE(echo_.closed[0].ok());
}

// A standby closes connections, a dead one refuses them: both send the client to the next address.
TEST_F(ConnectionTest, TriesTheNextAddressAfterAFailureAndAfterALoss) {
  class Closing final : public Echo {
    void OnMessage(Connection& connection, const ReceivedMessage& message) override {
      Echo::OnMessage(connection, message);
      connection.Close(absl::OkStatus());
    }
    void Answer(Connection&, const Value&) override {}
  };
  Closing standby;
  const std::unique_ptr<Server> second = *Server::Listen(loop_, {"127.0.0.1", 0, ""}, {}, &standby);
  Listen();
  Address all{"127.0.0.1", 1, ""};  // Nobody listens there.
  all.others = {{"127.0.0.1", second->port(), ""}, address()};
  caller_.on_connected = [](Connection& connection) { connection.SendAsync(Value::Long(1)); };
  ClientOptions options;
  options.first_pause = 1ms;
  Client client(loop_, all, options, &caller_);
  Until([&] { return !echo_.got.empty(); });
  EXPECT_FALSE(caller_.failed.empty());
  EXPECT_EQ(standby.got.size(), 1u);
  EXPECT_EQ(caller_.connected, 2);
}

TEST(Ask, SaysWhoDidNotAnswer) {
  const absl::StatusOr<Value> answer = Ask({"127.0.0.1", 1, ""}, Value::String("1"), 2000ms);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Message(answer.status())), testing::HasSubstr("127.0.0.1:1"));
}

TEST(ParseAddress, TakesHostPortAndUnixPaths) {
  EXPECT_EQ(ParseAddress("localhost:5010")->ToString(), "localhost:5010");
  EXPECT_EQ(ParseAddress(":5010")->host, "127.0.0.1");
  EXPECT_EQ(ParseAddress("5010")->port, 5010);
  EXPECT_EQ(ParseAddress("unix:/tmp/kx.5010")->unix_path, "/tmp/kx.5010");
  EXPECT_EQ(ParseAddress("[::1]:1")->host, "::1");
  const Address several = *ParseAddress("a:1,tcps://b:2,unix:/tmp/c");
  EXPECT_EQ(several.host, "a");
  ASSERT_EQ(several.others.size(), 2u);
  EXPECT_TRUE(several.others[0].tls);
  EXPECT_EQ(several.others[1].unix_path, "/tmp/c");
  EXPECT_EQ(several.ToString(), "a:1,tcps://b:2,unix:/tmp/c");
  for (const char* bad : {"", "host:", "host:65536", "host:12x", "unix:", "host:-1", "a:1,", ",a:1",
                          "a:1,,b:2", "a:1,b:x"}) {
    EXPECT_FALSE(ParseAddress(bad).ok()) << bad;
  }
}

TEST(Timer, CallsAtMultiplesAndStopsWhenCancelled) {
  EventLoop loop;
  Timer timer(loop);
  int calls = 0;
  timer.Every(1ms, [&] {
    if (++calls == 3) timer.Cancel();
  });
  EXPECT_TRUE(loop.RunUntil([&] { return calls == 3; }, 60s));
  loop.RunUntil([] { return false; }, 10ms);
  EXPECT_EQ(calls, 3);
  timer.Once(1ms, [&] { ++calls; });
  EXPECT_TRUE(loop.RunUntil([&] { return calls == 4; }, 60s));
}

}  // namespace
}  // namespace tickstack::wire
