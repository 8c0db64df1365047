// Goal: records reach the owner in order, whatever the server and the owner do. Method: a server
// whose thread accepts one connection after the other, and sends frames that a test wrote.

#include "feed/live/websocket_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"

namespace tickstack::feed::live {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = LineRecord::Kind;

std::string Frame(std::string_view text) {
  EXPECT_LT(text.size(), 65'536u);
  std::string frame = "\x81";
  if (text.size() < 126) {
    frame += static_cast<char>(text.size());
  } else {
    frame += static_cast<char>(126);
    frame += static_cast<char>(text.size() >> 8);
    frame += static_cast<char>(text.size() & 0xff);
  }
  return frame.append(text);
}

class WebServer {
 public:
  // `serve` gets each client, after its upgrade, and the number of clients before it.
  explicit WebServer(std::function<void(int client, int number)> serve) : serve_(std::move(serve)) {
    listener_ = OwnedFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), any, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    ::getsockname(listener_.get(), any, &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~WebServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::string Address() const { return fmt::format("ws://127.0.0.1:{}/", port_); }

  static bool Send(int client, std::string_view bytes) {
    return ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // Returns what the client sends until it has sent `end`, or is gone.
  static std::string ReadTo(int client, std::string_view end) {
    std::string text;
    char byte = 0;
    while (!text.ends_with(end) && ::recv(client, &byte, 1, 0) == 1) text += byte;
    return text;
  }
  static void WaitUntilGone(int client) {
    char block[512];
    while (::recv(client, block, sizeof(block), 0) > 0) {
    }
  }

 private:
  void Run() {
    for (int number = 0;; ++number) {
      const OwnedFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.is_open()) return;
      const std::string head = ReadTo(client.get(), "\r\n\r\n");
      const std::string name = "Sec-WebSocket-Key: ";
      const size_t at = head.find(name);
      if (at == std::string::npos) {
        Send(client.get(), "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n{\"a\":\n");
        continue;
      }
      const std::string key = head.substr(at + name.size(), 24);
      const std::string text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
      unsigned char digest[SHA_DIGEST_LENGTH], accept[64];
      ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
      ::EVP_EncodeBlock(accept, digest, sizeof(digest));
      Send(client.get(), fmt::format("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                     "Connection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
                                     reinterpret_cast<const char*>(accept)));
      serve_(client.get(), number);
    }
  }

  const std::function<void(int, int)> serve_;
  OwnedFd listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

class WebsocketLineTest : public testing::Test {
 protected:
  void Begin(const WebServer& server, size_t queue_bytes_max = size_t{1} << 20) {
    WebsocketLineOptions options;
    options.address = *wire::ParseWebAddress(server.Address());
    options.client.first_pause = 1ms;
    options.queue_bytes_max = queue_bytes_max;
    line_ = *WebsocketLine::Create(std::move(options));
    line_->Start();
  }
  // Waits for records until `done` returns true for one, and returns it.
  LineRecord ReceiveUntil(const std::function<bool(const LineRecord&)>& done) {
    LineRecord last;
    bool is_done = false;
    while (!is_done) {
      pollfd ready{line_->fd(), POLLIN, 0};
      if (::poll(&ready, 1, 60'000) != 1) {
        ADD_FAILURE() << "no record";
        break;
      }
      line_->Receive([&](const LineRecord& record) {
        texts_.push_back(record.text);
        if (!is_done && done(record)) {
          is_done = true;
          last = record;
        }
      });
    }
    return last;
  }
  LineRecord ReceiveUntil(Kind kind) {
    return ReceiveUntil([kind](const LineRecord& record) { return record.kind == kind; });
  }

  std::unique_ptr<WebsocketLine> line_;
  std::vector<std::string> texts_;
};

TEST_F(WebsocketLineTest, RecordsAreInOrderAndTheEndOfAConnectionIsOne) {
  WebServer server([](int client, int number) {
    if (number == 0) {
      WebServer::Send(client, Frame("a") + Frame("b"));
    } else {
      WebServer::Send(client, Frame("c"));
      WebServer::WaitUntilGone(client);
    }
  });
  Begin(server);
  EXPECT_THAT(ReceiveUntil(Kind::kClosed).text, HasSubstr("the server closed the connection"));
  EXPECT_GT(ReceiveUntil([](const LineRecord& record) { return record.text == "c"; }).recv_ns, 0);
  texts_[3].clear();
  EXPECT_THAT(texts_, ElementsAre("", "a", "b", "", "", "c"));
  line_.reset();
}

// Goal: a queue that is full loses nothing. Method: an owner that is slow, and a queue of two
// messages.
TEST_F(WebsocketLineTest, AFullQueueMakesTheServerWait) {
  constexpr int kMessages = 3'000;
  const std::string padding(1'000, 'x');
  WebServer server([&](int client, int) {
    for (int i = 0; i < kMessages; ++i) {
      if (!WebServer::Send(client, Frame(fmt::format("{} {}", i, padding)))) return;
    }
    WebServer::WaitUntilGone(client);
  });
  Begin(server, 2'000);
  int next = 0;
  ReceiveUntil([&](const LineRecord& record) {
    if (record.kind != Kind::kMessage) return false;
    EXPECT_TRUE(record.text.starts_with(fmt::format("{} ", next))) << next;
    return ++next == kMessages;
  });
  EXPECT_EQ(texts_.size(), 1u + kMessages);
  line_.reset();
}

TEST_F(WebsocketLineTest, AfterASuspensionTheFirstRecordIsANewConnection) {
  WebServer server([](int client, int number) {
    for (int i = 0; WebServer::Send(client, Frame(fmt::format("{} {}", number, i))); ++i) {
    }
  });
  Begin(server, 10'000);
  for (int round = 0; round < 20; ++round) {
    ReceiveUntil(Kind::kMessage);
    line_->Suspend();
    if (round % 2 == 0) {
      pollfd ready{line_->fd(), POLLIN, 0};
      EXPECT_EQ(::poll(&ready, 1, 2), 0);
    }
    line_->Resume();
    texts_.clear();
    Kind first = Kind::kMessage;
    bool has_first = false;
    ReceiveUntil([&](const LineRecord& record) {
      if (!std::exchange(has_first, true)) first = record.kind;
      return true;
    });
    EXPECT_EQ(first, Kind::kConnected);
  }
  line_.reset();
}

TEST_F(WebsocketLineTest, ReconnectsWhenItIsAskedTo) {
  WebServer server([](int client, int number) {
    WebServer::Send(client, Frame(std::to_string(number)));
    WebServer::WaitUntilGone(client);
  });
  Begin(server);
  for (const std::string number : {"0", "1", "2"}) {
    ReceiveUntil([&](const LineRecord& record) { return record.text == number; });
    line_->Reconnect(DataLoss("a book is broken"));
    EXPECT_EQ(ReceiveUntil(Kind::kClosed).text, "a book is broken");
  }
  line_.reset();
}

TEST_F(WebsocketLineTest, AnswersAreRecordsOnALine) {
  WebServer server([](int client, int) { WebServer::Send(client, Frame("x")); });
  Begin(server);
  ReceiveUntil(Kind::kClosed);
  wire::WebAddress address = *wire::ParseWebAddress(server.Address());
  address.scheme = "http";
  address.target = "/depth";
  // A connection that is made meanwhile ends the request.
  LineRecord answer;
  while (answer.kind != Kind::kAnswer) {
    line_->Request(address);
    answer = ReceiveUntil([](const LineRecord& record) {
      return record.kind == Kind::kAnswer || record.kind == Kind::kConnected;
    });
  }
  EXPECT_EQ(answer.text, "{\"a\": ");
  EXPECT_EQ(answer.address, address.ToString());
  line_.reset();
}

}  // namespace
}  // namespace tickstack::feed::live
