#include "wire/hand_over.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "wire/socket_address.h"
#include "wire/socket_network.h"

namespace tickstack::wire {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kProtocol = "1";
constexpr size_t kTakeOverBytesMax = 8192;
constexpr size_t kSocketsMax = 4;
// A holder's answer may need a commit to a slow disk, or the end of a log's sync.
constexpr int kAnswerMsMax = 60'000;

std::string NameOfPort(int port) { return fmt::format("@tickstack/take-over/{}", port); }

// Messages keep their bounds on such a socket.
OwnedFd MakeSocket(int flags) {
  return OwnedFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
}

// kFailedPrecondition if the peer is a process of another user.
absl::Status CheckUser(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
    return ErrnoStatus(errno, "SO_PEERCRED");
  }
  if (peer.uid == ::geteuid()) return absl::OkStatus();
  return FailedPrecondition("process {} is of user {}, expected user {}", peer.pid, peer.uid,
                            ::geteuid());
}

absl::Status SendMessage(int socket, std::string_view text, std::span<const OwnedFd> sockets = {}) {
  iovec bytes{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kSocketsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  const size_t count = std::min(sockets.size(), kSocketsMax);
  if (count > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    for (size_t i = 0; i < count; ++i) {
      const int descriptor = sockets[i].get();
      std::memcpy(CMSG_DATA(header) + i * sizeof(int), &descriptor, sizeof descriptor);
    }
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) return ErrnoStatus(errno, "sendmsg");
  return absl::OkStatus();
}

void TakeSockets(msghdr& message, std::vector<OwnedFd>* sockets) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
      OwnedFd owned(descriptor);
      if (sockets != nullptr) sockets->push_back(std::move(owned));
    }
  }
}

// Returns a message; nullopt if the peer has ended.
absl::StatusOr<std::optional<std::string>> ReceiveMessage(int socket,
                                                          std::vector<OwnedFd>* sockets = nullptr) {
  std::string text(kTakeOverBytesMax, '\0');
  iovec bytes{text.data(), text.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kSocketsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  // A peer that ended without having read everything; its last message comes after the error.
  if (received < 0 && errno == ECONNRESET) {
    received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (received < 0) return std::nullopt;
  }
  if (received < 0) return ErrnoStatus(errno, "recvmsg");
  TakeSockets(message, sockets);
  if (received == 0) return std::nullopt;
  text.resize(static_cast<size_t>(received));
  return text;
}

// Takes the first word off a message.
std::string_view TakeWord(std::string_view& rest) {
  const size_t end = rest.find(' ');
  const std::string_view word = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return word;
}

}  // namespace

// ---- the holder

struct HandOver::Impl : std::enable_shared_from_this<HandOver::Impl> {
  enum class Step {
    kNobody,   // No successor.
    kGreeted,  // Connected, has not begun.
    kBegun,    // The successor prepares.
    kGiven,    // It has the sockets.
    kDone,     // It accepts clients; its connection stays open until this process ends.
  };

  Impl(EventLoop& loop, std::string its_role, HandOverCalls its_calls)
      : successor(loop.context()),
        listener(loop.context()),
        role(std::move(its_role)),
        calls(std::move(its_calls)) {}

  void WaitForSuccessor();
  void Accept();
  void WaitForMessage();
  void Receive();
  void Answer(std::string_view message);
  absl::Status Begin(std::string_view rest);
  absl::Status Give();
  void End();
  void Refuse(const absl::Status& why);

  // The listener is closed first: a successor that sees the connection end can use its name.
  asio::posix::stream_descriptor successor;
  asio::posix::stream_descriptor listener;
  const std::string role;
  const HandOverCalls calls;
  Step step = Step::kNobody;
};

void HandOver::Impl::WaitForSuccessor() {
  listener.async_wait(asio::posix::stream_descriptor::wait_read,
                      [weak = weak_from_this()](const boost::system::error_code& error) {
                        const std::shared_ptr<Impl> self = weak.lock();
                        if (self == nullptr || error) return;
                        self->Accept();
                        self->WaitForSuccessor();
                      });
}

void HandOver::Impl::Accept() {
  OwnedFd accepted(
      ::accept4(listener.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!accepted.is_open()) return;
  absl::Status may = CheckUser(accepted.get());
  if (may.ok() && step != Step::kNobody) {
    may = FailedPrecondition("another successor is taking over already");
  }
  if (!may.ok()) {
    LogWarn("take-over refused error=\"{}\"", Message(may));
    SendMessage(accepted.get(), fmt::format("no {}", Message(may))).IgnoreError();
    return;
  }
  boost::system::error_code error;
  successor.assign(accepted.get(), error);
  if (error) return;
  accepted.Release();
  step = Step::kGreeted;
  WaitForMessage();
}

void HandOver::Impl::WaitForMessage() {
  successor.async_wait(asio::posix::stream_descriptor::wait_read,
                       [weak = weak_from_this()](const boost::system::error_code& error) {
                         const std::shared_ptr<Impl> self = weak.lock();
                         if (self != nullptr && !error) self->Receive();
                       });
}

void HandOver::Impl::Receive() {
  const absl::StatusOr<std::optional<std::string>> message =
      ReceiveMessage(successor.native_handle());
  if (!message.ok() || !message->has_value()) return End();
  Answer(**message);
  if (step != Step::kNobody && step != Step::kDone) WaitForMessage();
}

void HandOver::Impl::Answer(std::string_view message) {
  const std::string_view word = TakeWord(message);
  absl::Status done;
  if (word == "begin" && step == Step::kGreeted) {
    done = Begin(message);
  } else if (word == "sockets" && step == Step::kBegun) {
    done = Give();
  } else if (word == "done" && step == Step::kGiven) {
    step = Step::kDone;
    return calls.done(true);
  } else {
    done = FailedPrecondition("\"{}\" is not expected here", word.substr(0, 20));
  }
  if (!done.ok()) Refuse(done);
}

// `begin PROTOCOL ROLE VERSION REQUEST`.
absl::Status HandOver::Impl::Begin(std::string_view rest) {
  const std::string_view protocol = TakeWord(rest);
  const std::string_view its_role = TakeWord(rest), version = TakeWord(rest);
  if (protocol != kProtocol) {
    return FailedPrecondition("the successor speaks version {} of the take-over, expected {}",
                              protocol, kProtocol);
  }
  if (its_role != role) return FailedPrecondition("this is the {}, not the {}", role, its_role);
  LogInfo("take-over begins version={} successor_version={} request={}", TICKSTACK_VERSION, version,
          rest);
  step = Step::kBegun;
  TS_ASSIGN_OR_RETURN(const std::string facts, calls.begin(rest));
  return SendMessage(successor.native_handle(), fmt::format("ready {}", facts));
}

absl::Status HandOver::Impl::Give() {
  absl::StatusOr<Released> released = calls.release();
  if (absl::IsUnavailable(released.status())) {
    return SendMessage(successor.native_handle(),
                       fmt::format("wait {}", Message(released.status())));
  }
  TS_RETURN_IF_ERROR(released.status());
  step = Step::kGiven;
  std::vector<OwnedFd> sockets;
  for (std::unique_ptr<DetachedListener>& each : released->listeners) {
    sockets.push_back(DescriptorOf(std::move(each)));
  }
  return SendMessage(successor.native_handle(), fmt::format("given {}", released->facts), sockets);
}

// The successor has ended.
void HandOver::Impl::End() {
  boost::system::error_code ignored;
  successor.close(ignored);
  const Step was = std::exchange(step, Step::kNobody);
  if (was == Step::kGiven) return calls.done(false);
  if (was == Step::kBegun) calls.cancelled();
}

void HandOver::Impl::Refuse(const absl::Status& why) {
  LogWarn("take-over refused error=\"{}\"", Message(why));
  SendMessage(successor.native_handle(), fmt::format("no {}", Message(why))).IgnoreError();
  End();
}

HandOver::HandOver(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HandOver::~HandOver() = default;

absl::StatusOr<std::unique_ptr<HandOver>> HandOver::Offer(EventLoop& loop, uint16_t port,
                                                          std::string role, HandOverCalls calls) {
  const Address address{"", 0, NameOfPort(port)};
  TS_ASSIGN_OR_RETURN(const SocketAddress name, ToSocketAddress(address));
  OwnedFd socket = MakeSocket(SOCK_NONBLOCK);
  if (!socket.is_open()) return ErrnoStatus(errno, "socket");
  if (::bind(socket.get(), name.get(), name.size()) != 0 || ::listen(socket.get(), 4) != 0) {
    return Unavailable("{}: {}", address.ToString(), Message(ErrnoStatus(errno, "bind")));
  }
  auto impl = std::make_shared<Impl>(loop, std::move(role), std::move(calls));
  boost::system::error_code error;
  impl->listener.assign(socket.get(), error);
  if (error) return Unavailable("{}: {}", address.ToString(), error.message());
  socket.Release();
  impl->WaitForSuccessor();
  return std::unique_ptr<HandOver>(new HandOver(std::move(impl)));
}

// ---- the successor

TakeOver::~TakeOver() = default;

absl::StatusOr<std::unique_ptr<TakeOver>> TakeOver::Begin(int port, std::string_view role,
                                                          std::string_view request) {
  if (port <= 0 || port > 65535) {
    return InvalidArgument("port {}: expected the port of the {} to take over", port, role);
  }
  const std::string place = fmt::format("port {}", port);
  TS_ASSIGN_OR_RETURN(const SocketAddress name, ToSocketAddress({"", 0, NameOfPort(port)}));
  std::unique_ptr<TakeOver> taker(new TakeOver(MakeSocket(0)));
  if (!taker->socket_.is_open()) return ErrnoStatus(errno, "socket");
  if (::connect(taker->socket_.get(), name.get(), name.size()) != 0) {
    return NotFound("{}: no {} that can be taken over listens there: {}", place, role,
                    std::strerror(errno));
  }
  TS_RETURN_IF_ERROR(Annotate(CheckUser(taker->socket_.get()), place));
  absl::StatusOr<std::string> word = taker->Call(
      fmt::format("begin {} {} {} {}", kProtocol, role, TICKSTACK_VERSION, request), nullptr);
  if (!word.ok()) return Annotate(word.status(), place);
  if (*word != "ready") return FailedPrecondition("{}: answered \"{}\"", place, *word);
  return taker;
}

// Sends a message; returns the answer's first word, and keeps the rest as facts.
absl::StatusOr<std::string> TakeOver::Call(std::string_view message,
                                           std::vector<OwnedFd>* sockets) {
  absl::Status ended = NotFound("the process that was to hand over has ended");
  // If that fails, a refusal may be there already.
  SendMessage(socket_.get(), message).IgnoreError();
  pollfd readable{socket_.get(), POLLIN, 0};
  int polled = 0;
  do {
    polled = ::poll(&readable, 1, kAnswerMsMax);
  } while (polled < 0 && errno == EINTR);
  if (polled <= 0) return FailedPrecondition("no answer within {} ms", kAnswerMsMax);
  TS_ASSIGN_OR_RETURN(const std::optional<std::string> answer,
                      ReceiveMessage(socket_.get(), sockets));
  if (!answer) return ended;
  std::string_view rest = *answer;
  std::string word(TakeWord(rest));
  facts_ = rest;
  if (word == "no") return FailedPrecondition("refused: {}", facts_);
  if (word == "wait") return Unavailable("{}", facts_);
  return word;
}

absl::Status TakeOver::AskForSockets(ListenerOptions& listener) {
  std::vector<OwnedFd> sockets;
  TS_ASSIGN_OR_RETURN(const std::string word, Call("sockets", &sockets));
  if (word != "given") return FailedPrecondition("answered \"{}\"", word);
  for (OwnedFd& socket : sockets) {
    int family = 0;
    socklen_t bytes = sizeof family;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &bytes) != 0) continue;
    int& slot = family == AF_UNIX ? listener.unix_listen_fd : listener.listen_fd;
    if (slot < 0 && (family != AF_UNIX || listener.unix_socket)) slot = socket.Release();
  }
  if (listener.listen_fd < 0) return FailedPrecondition("no listening socket came");
  return absl::OkStatus();
}

void TakeOver::Confirm() { SendMessage(socket_.get(), "done").IgnoreError(); }

bool TakeOver::HolderHasEnded() const {
  pollfd entry{socket_.get(), POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace tickstack::wire
