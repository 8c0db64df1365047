#include "wire/socket_network.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <string>
#include <utility>

#include "base/status.h"
#include "wire/event_loop.h"
#include "wire/keep_alive.h"
#include "wire/listen_on.h"
#include "wire/socket_address.h"
#include "wire/tls_transport.h"

namespace tickstack::wire {
namespace {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;

constexpr size_t kIovecs = 256;  // Pieces written in one call.

class SocketTransport final : public Transport {
 public:
  SocketTransport(EventLoop& loop, Protocol::socket socket)
      : loop_(loop), socket_(std::move(socket)) {}

  // Small messages leave at once, and a peer whose machine died is noticed.
  void OnConnected() {
    const int on = 1;
    ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    KeepAlive(socket_.native_handle());
  }
  Protocol::socket& socket() { return socket_; }

  void AsyncRead(std::span<std::byte> into, Read done) override {
    socket_.async_read_some(asio::buffer(into.data(), into.size()), std::move(done));
  }

  size_t TryWrite(std::span<const std::span<const std::byte>> pieces, ErrorCode& error) override {
    std::array<iovec, kIovecs> vectors;
    const size_t count = std::min(pieces.size(), kIovecs);
    for (size_t i = 0; i < count; ++i) {
      vectors[i] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
    }
    msghdr header{};
    header.msg_iov = vectors.data();
    header.msg_iovlen = count;
    ssize_t sent = 0;
    do {
      sent = ::sendmsg(socket_.native_handle(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0) {
      error = {};
      return static_cast<size_t>(sent);
    }
    error = errno == EAGAIN ? ErrorCode(asio::error::would_block)
                            : ErrorCode(errno, boost::system::system_category());
    return 0;
  }

  void AsyncWaitWritable(Waited done) override {
    socket_.async_wait(Protocol::socket::wait_write, std::move(done));
  }
  void AsyncWaitReadable(Waited done) override {
    socket_.async_wait(Protocol::socket::wait_read, std::move(done));
  }
  void Cancel() override {
    ErrorCode ignored;
    socket_.cancel(ignored);
  }

  bool HasUnread() const override {
    int waiting = 0;
    return ::ioctl(Handle(), FIONREAD, &waiting) == 0 && waiting > 0;
  }
  bool PeerHasClosed() const override {
    pollfd entry{Handle(), POLLRDHUP, 0};
    return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }
  void SetUnacknowledgedMax(std::chrono::milliseconds at_most) override {
    const auto ms = static_cast<unsigned>(at_most.count());
    ::setsockopt(Handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
  }

  void ShutdownSend() override {
    ErrorCode ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  }
  void Close() override {
    ErrorCode ignored;
    socket_.close(ignored);
  }
  bool is_open() const override { return socket_.is_open(); }
  PeerName peer() const override { return PeerNameOf(Handle()); }
  EventLoop& loop() override { return loop_; }
  std::unique_ptr<DetachedTransport> Detach() override;

 private:
  int Handle() const { return const_cast<Protocol::socket&>(socket_).native_handle(); }

  EventLoop& loop_;
  Protocol::socket socket_;
};

class DetachedSocket final : public DetachedTransport {
 public:
  explicit DetachedSocket(OwnedFd socket) : socket_(std::move(socket)) {}

  std::unique_ptr<Transport> Attach(EventLoop& loop) override {
    Protocol::socket socket(loop.context());
    boost::system::error_code error;
    socket.assign(Protocol(AF_UNSPEC, 0), socket_.get(), error);
    if (!error) {
      socket_.Release();
      socket.native_non_blocking(true, error);
    }
    if (error) return nullptr;
    return std::make_unique<SocketTransport>(loop, std::move(socket));
  }

 private:
  OwnedFd socket_;
};

std::unique_ptr<DetachedTransport> SocketTransport::Detach() {
  ErrorCode error;
  OwnedFd descriptor(socket_.release(error));
  if (error) return nullptr;
  return std::make_unique<DetachedSocket>(std::move(descriptor));
}

class DetachedSocketListener final : public DetachedListener {
 public:
  explicit DetachedSocketListener(OwnedFd socket) : socket_(std::move(socket)) {}
  OwnedFd& socket() { return socket_; }

 private:
  OwnedFd socket_;
};

class SocketListener final : public Listener {
 public:
  explicit SocketListener(EventLoop& loop) : loop_(loop), acceptor_(loop.context()) {}
  ~SocketListener() override {
    if (!unlink_path_.empty()) ::unlink(unlink_path_.c_str());
  }

  // Takes over the descriptor if it succeeds.
  boost::system::error_code Assign(int family, int descriptor) {
    boost::system::error_code error;
    acceptor_.assign(Protocol(family, 0), descriptor, error);
    return error;
  }
  void UnlinkAtEnd(std::string path) { unlink_path_ = std::move(path); }

  void AsyncAccept(Accepted done) override {
    acceptor_.async_accept(
        [&loop = loop_, done = std::move(done)](const boost::system::error_code& error,
                                                Protocol::socket socket) mutable {
          if (error) return done(error, nullptr);
          auto accepted = std::make_unique<SocketTransport>(loop, std::move(socket));
          accepted->OnConnected();
          done(error, std::move(accepted));
        });
  }

  uint16_t port() const override {
    return LocalPortOf(
        const_cast<asio::basic_socket_acceptor<Protocol>&>(acceptor_).native_handle());
  }

  std::unique_ptr<DetachedListener> Detach() override {
    boost::system::error_code error;
    OwnedFd descriptor(acceptor_.release(error));
    if (error) return nullptr;
    unlink_path_.clear();  // The socket goes on to listen there.
    return std::make_unique<DetachedSocketListener>(std::move(descriptor));
  }

 private:
  EventLoop& loop_;
  asio::basic_socket_acceptor<Protocol> acceptor_;
  std::string unlink_path_;
};

// Removes the socket file of a dead process: no one listens on it. Keeps files that are not
// sockets, and sockets whose listener merely cannot accept now.
void RemoveStaleSocket(const Address& address, const SocketAddress& bound) {
  struct stat status{};
  if (::lstat(address.unix_path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const OwnedFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.is_open()) return;
  if (::connect(probe.get(), bound.get(), bound.size()) != 0 && errno == ECONNREFUSED) {
    ::unlink(address.unix_path.c_str());
  }
}

}  // namespace

SocketNetwork& SocketNetwork::Instance() {
  static SocketNetwork network;
  return network;
}

absl::StatusOr<std::unique_ptr<Listener>> SocketNetwork::Listen(EventLoop& loop,
                                                                const Address& address) {
  TS_ASSIGN_OR_RETURN(const SocketAddress bound, ToSocketAddress(address));
  const bool is_file = address.is_unix() && address.unix_path[0] != '@';
  OwnedFd socket(::socket(bound.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return ListenError(address, errno, "socket");
  const int on = 1;
  if (!address.is_unix()) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (is_file) RemoveStaleSocket(address, bound);
  if (::bind(socket.get(), bound.get(), bound.size()) != 0) {
    return ListenError(address, errno, "bind");
  }
  if (::listen(socket.get(), SOMAXCONN) != 0) return ListenError(address, errno, "listen");
  auto listener = std::make_unique<SocketListener>(loop);
  if (const auto error = listener->Assign(bound.family(), socket.get())) {
    return Unavailable("{}: {}", address.ToString(), error.message());
  }
  socket.Release();
  if (is_file) listener->UnlinkAtEnd(address.unix_path);
  return listener;
}

absl::StatusOr<std::unique_ptr<Transport>> SocketNetwork::Connect(EventLoop& loop,
                                                                  const Address& address,
                                                                  Transport::Waited done) {
  if (address.tls) return ConnectTls(*this, loop, address, std::move(done));
  TS_ASSIGN_OR_RETURN(const SocketAddress to, ToSocketAddress(address));
  const Protocol::endpoint endpoint(to.get(), to.size());
  auto transport = std::make_unique<SocketTransport>(loop, Protocol::socket(loop.context()));
  boost::system::error_code error;
  transport->socket().open(endpoint.protocol(), error);
  if (error) return Unavailable("{}: socket: {}", address.ToString(), error.message());
  transport->OnConnected();  // The options may be set before.
  transport->socket().async_connect(endpoint, std::move(done));
  return transport;
}

absl::StatusOr<std::unique_ptr<Listener>> AdoptListener(EventLoop& loop, int descriptor) {
  int is_listening = 0;
  socklen_t bytes = sizeof is_listening;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &bytes) != 0 ||
      is_listening == 0) {
    return InvalidArgument("descriptor {}: expected a listening socket", descriptor);
  }
  auto listener = std::make_unique<SocketListener>(loop);
  if (const auto error = listener->Assign(AF_INET, descriptor)) {
    return Internal("descriptor {}: {}", descriptor, error.message());
  }
  return listener;
}

OwnedFd DescriptorOf(std::unique_ptr<DetachedListener> listener) {
  auto* const socket = dynamic_cast<DetachedSocketListener*>(listener.get());
  return socket == nullptr ? OwnedFd() : std::move(socket->socket());
}

absl::StatusOr<std::pair<std::unique_ptr<DetachedTransport>, std::unique_ptr<DetachedTransport>>>
MakeSocketPair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return Unavailable("no socket is left: {}", Message(ErrnoStatus(errno, "socketpair")));
  }
  return std::pair(std::make_unique<DetachedSocket>(OwnedFd(ends[0])),
                   std::make_unique<DetachedSocket>(OwnedFd(ends[1])));
}

}  // namespace tickstack::wire
