#include "wire/tls_session.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "wire/tls_for_test.h"

namespace tickstack::wire {
namespace {

// Gives a session bytes as a socket would.
void Receive(TlsSession& session, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> room = session.ReceiveRoom();
    const size_t part = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), part);
    session.OnReceived(part);
    bytes.remove_prefix(part);
  }
}

// Moves all bytes that one session has encrypted to another one, in parts of `most` bytes.
void Carry(TlsSession& from, TlsSession& to, size_t most = SIZE_MAX) {
  while (!from.unsent().empty()) {
    const std::span<const std::byte> part =
        from.unsent().first(std::min(most, from.unsent().size()));
    Receive(to, AsText(part));
    from.OnSent(part.size());
  }
}

class TlsSessionTest : public testing::Test {
 protected:
  void ShakeHands() {
    while (SSL_do_handshake(client_.ssl()) != 1 || SSL_do_handshake(server_.ssl()) != 1) {
      Carry(client_, server_);
      SSL_do_handshake(server_.ssl());
      Carry(server_, client_);
    }
  }

  const TestCertificates certificates_;
  const std::shared_ptr<TlsServerContext> context_ =
      TlsServerContext::Load(certificates_.Issue("server", "IP:127.0.0.1")).value();
  const bool trusts_ = SetTlsClientOptions({.ca = certificates_.ca()}).ok();
  TlsSession server_{context_->NewSession()};
  TlsSession client_{NewTlsClientSession("127.0.0.1").value()};
};

TEST_F(TlsSessionTest, CarriesRecordsThatArriveInParts) {
  ShakeHands();
  std::string text(100'000, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i);
  for (size_t at = 0; at < text.size();) {
    at += static_cast<size_t>(
        SSL_write(client_.ssl(), text.data() + at, static_cast<int>(text.size() - at)));
  }
  std::string got;
  while (!client_.unsent().empty()) {
    const std::span<const std::byte> part =
        client_.unsent().first(std::min<size_t>(7'001, client_.unsent().size()));
    Receive(server_, AsText(part));
    client_.OnSent(part.size());
    std::array<char, 5'000> into;
    for (int bytes = 1; bytes > 0;) {
      bytes = SSL_read(server_.ssl(), into.data(), static_cast<int>(into.size()));
      if (bytes > 0) got.append(into.data(), static_cast<size_t>(bytes));
    }
    EXPECT_TRUE(server_.received().empty());
  }
  EXPECT_EQ(got, text);
}

// Goal: a busy connection reads more at a time, an idle one has little memory. Method: fill the
// room, or leave some of it.
TEST_F(TlsSessionTest, HasMoreRoomForPeersThatFillIt) {
  size_t expected = TlsSession::kReceiveBytesMin;
  EXPECT_EQ(server_.ReceiveRoom().size(), expected);
  server_.OnReceived(expected - 1);
  EXPECT_EQ(server_.ReceiveRoom().size(), expected) << "it was not filled";
  server_.DropReceived();
  std::string all;
  for (int i = 0; i < 5; ++i) {
    const std::string text(server_.ReceiveRoom().size(), static_cast<char>('a' + i));
    EXPECT_EQ(text.size(), expected);
    Receive(server_, text);
    all += text;
    expected = std::min(2 * expected, TlsSession::kReceiveBytesMax);
  }
  EXPECT_EQ(AsText(server_.received()), all) << "bytes that nobody has read stay";
}

}  // namespace
}  // namespace tickstack::wire
