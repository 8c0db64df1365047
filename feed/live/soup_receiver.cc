#include "feed/live/soup_receiver.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/printable.h"
#include "base/status.h"
#include "feed/live/udp_line.h"
#include "feed/market/big_endian.h"

namespace tickstack::feed::live {
namespace {

constexpr int64_t kConnectNsMax = 15 * kNsPerSecond;
constexpr int64_t kNsPerMs = 1'000'000;

}  // namespace

std::string SoupServer::ToString() const {
  return fmt::format("{}{}", kSoupPrefix, UdpLine{address, port, {}}.ToString());
}

absl::StatusOr<SoupServer> ParseSoupServer(std::string_view text) {
  const std::string_view place = text.substr(std::min(kSoupPrefix.size(), text.size()));
  const absl::StatusOr<UdpLine> line = ParseUdpLine(place, {});
  if (!text.starts_with(kSoupPrefix) || place.find('@') != std::string_view::npos || !line.ok() ||
      line->is_group()) {
    return InvalidArgument(
        "'{}': expected soup:, the IPv4 address of a server and its port, such as "
        "soup:10.1.1.1:5000",
        text);
  }
  return SoupServer{line->address, line->port};
}

absl::Status CheckSoupOptions(const SoupOptions& options) {
  if (options.user.size() > kSoupUserBytes || options.password.size() > kSoupPasswordBytes) {
    return InvalidArgument(
        "soup_credentials: a user of {} and a password of {} bytes, SoupBinTCP has up to {} and {}",
        options.user.size(), options.password.size(), kSoupUserBytes, kSoupPasswordBytes);
  }
  const std::string& session = options.session;
  if (session.size() > kSoupSessionBytes || !market::IsPrintable(session) ||
      session.find(' ') != std::string::npos) {
    return InvalidArgument("soup_session: '{}', expected up to {} letters and digits", session,
                           kSoupSessionBytes);
  }
  return absl::OkStatus();
}

SoupReceiver::SoupReceiver(SoupServer server, SoupOptions options, Positions positions)
    : server_(server),
      options_(std::move(options)),
      positions_(std::move(positions)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      pause_ns_(options_.pause_ns_min) {}

absl::StatusOr<std::unique_ptr<SoupReceiver>> SoupReceiver::Create(SoupServer server,
                                                                   SoupOptions options,
                                                                   Positions positions) {
  TS_RETURN_IF_ERROR(CheckSoupOptions(options));
  std::unique_ptr<SoupReceiver> receiver(
      new SoupReceiver(server, std::move(options), std::move(positions)));
  if (!receiver->epoll_.is_open()) return ErrnoStatus(errno, "epoll_create1");
  if (!receiver->timer_.is_open()) return ErrnoStatus(errno, "timerfd_create");
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (epoll_ctl(receiver->epoll_.get(), EPOLL_CTL_ADD, receiver->timer_.get(), &event) != 0) {
    return ErrnoStatus(errno, "epoll_ctl");
  }
  return receiver;
}

std::optional<uint64_t> SoupReceiver::NextSeqOf(std::string_view session) const {
  for (const market::StreamPosition& position : positions_()) {
    if (position.session == session) return position.next_seq;
  }
  return std::nullopt;
}

// Returns the session that had the last message; empty if there is none.
std::string SoupReceiver::NewestSession() const {
  std::string newest;
  int64_t newest_ns = kNullLong;
  for (const market::StreamPosition& position : positions_()) {
    if (position.delivered_ns == kNullLong || position.delivered_ns < newest_ns) continue;
    newest_ns = position.delivered_ns;
    newest = position.session;
  }
  return newest;
}

absl::Status SoupReceiver::Join() {
  continued_ = options_.session.empty() ? NewestSession() : options_.session;
  ConnectAfter(0, MonotonicNs());
  return absl::OkStatus();
}

void SoupReceiver::Leave() {
  if (state_ == State::kConnected) {
    session_->Logout();
    const std::string& bytes = session_->to_send();
    // A server that does not read sees the connection end.
    (void)!send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  Close();
  state_ = State::kIdle;
  SetTimer(0);
}

void SoupReceiver::Close() {
  session_.reset();
  socket_.Reset();
  events_ = 0;
}

void SoupReceiver::SetTimer(int64_t at_ns) {
  if (at_ns == timer_ns_) return;
  timer_ns_ = at_ns;
  itimerspec spec{};  // 0 disarms it.
  spec.it_value = {at_ns / kNsPerSecond, at_ns % kNsPerSecond};
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void SoupReceiver::SetEvents(uint32_t events) {
  if (!socket_.is_open() || events == events_) return;
  // A socket that is watched for nothing would still report that its connection ended.
  const int operation = events == 0 ? EPOLL_CTL_DEL : events_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  epoll_event event{.events = events, .data = {}};
  epoll_ctl(epoll_.get(), operation, socket_.get(), &event);
  events_ = events;
}

void SoupReceiver::ConnectAfter(int64_t pause_ns, int64_t now_ns) {
  Close();
  state_ = State::kWaiting;
  state_ns_ = now_ns + pause_ns;
  SetTimer(DeadlineNs());
}

// Connects again after a pause, which grows.
void SoupReceiver::ConnectAgain(int64_t now_ns) {
  ConnectAfter(pause_ns_, now_ns);
  pause_ns_ = std::min(2 * pause_ns_, options_.pause_ns_max);
}

void SoupReceiver::Lose(std::string_view why, int64_t now_ns) {
  if (state_ != State::kConnected) {
    if (connect_limit_.Pass()) {
      LogWarn("no server line={} error=\"{}\" pause_ms={}", server_.ToString(), why,
              pause_ns_ / kNsPerMs);
    }
  } else {
    if (session_->messages() > 0) pause_ns_ = options_.pause_ns_min;
    if (lost_limit_.Pass()) {
      LogWarn("server lost line={} session={} next_seq={} error=\"{}\" pause_ms={}",
              server_.ToString(), session_->session(), session_->next_seq(), why,
              pause_ns_ / kNsPerMs);
    }
  }
  ConnectAgain(now_ns);
}

void SoupReceiver::Connect(int64_t now_ns) {
  socket_ = OwnedFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_.is_open()) return Lose(Message(ErrnoStatus(errno, "socket")), now_ns);
  const sockaddr_in address = SocketAddressOf(UdpLine{server_.address, server_.port, {}});
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  state_ = State::kConnecting;
  state_ns_ = now_ns;
  if (connect(socket_.get(), any, sizeof(address)) == 0) return OnConnected(now_ns);
  if (errno != EINPROGRESS) return Lose(Message(ErrnoStatus(errno, "connect")), now_ns);
  SetEvents(EPOLLOUT);
}

void SoupReceiver::OnConnected(int64_t now_ns) {
  constexpr int kOn = 1;
  setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof(kOn));
  SoupLogin login{options_.user, options_.password, continued_, 1};
  if (!continued_.empty()) login.next_seq = NextSeqOf(continued_).value_or(1);
  state_ = State::kConnected;
  session_.emplace(
      std::move(login), [this](std::string_view session) { return NextSeqOf(session); },
      [this](std::span<const std::byte> payload) {
        market::Datagram datagram;
        datagram.payload = payload;
        datagram.address = std::as_bytes(std::span(&server_.address, 1));
        datagram.port = server_.port;
        (*on_datagram_)(0, datagram, SystemClock::Instance().NowNs());
      },
      now_ns);
}

bool SoupReceiver::Receive(const OnDatagram& on_datagram) {
  on_datagram_ = &on_datagram;
  const int64_t now_ns = MonotonicNs();
  bool has_all = true;
  if (uint64_t fired = 0; read(timer_.get(), &fired, sizeof(fired)) > 0) timer_ns_ = 0;
  if (state_ == State::kWaiting && now_ns >= state_ns_) Connect(now_ns);
  if (state_ == State::kConnecting) CheckConnecting(now_ns);
  if (state_ == State::kConnected && !paused_) has_all = Read(now_ns);
  // It may have been read late: only now is it known that there was nothing.
  if (state_ == State::kConnected && !paused_ && has_all && session_->is_silent(now_ns)) {
    Lose("the server is silent", now_ns);
  }
  if (state_ == State::kConnected) Write(now_ns);
  if (state_ != State::kIdle) SetTimer(DeadlineNs());
  on_datagram_ = nullptr;
  return has_all;
}

void SoupReceiver::CheckConnecting(int64_t now_ns) {
  int error = 0;
  socklen_t bytes = sizeof(error);
  getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  if (error != 0) return Lose(Message(ErrnoStatus(error, "connect")), now_ns);
  sockaddr_in peer{};
  bytes = sizeof(peer);
  if (getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&peer), &bytes) == 0) {
    return OnConnected(now_ns);
  }
  if (now_ns - state_ns_ >= kConnectNsMax) Lose("connect: no answer", now_ns);
}

int64_t SoupReceiver::DeadlineNs() const {
  switch (state_) {
    case State::kIdle:
      break;
    case State::kWaiting:
      return state_ns_;
    case State::kConnecting:
      return state_ns_ + kConnectNsMax;
    case State::kConnected:
      // While it is paused, a server is not silent: it is not heard.
      return paused_ ? MonotonicNs() + SoupSession::kHeartbeatNs : session_->deadline_ns();
  }
  return kInfinityLong;
}

bool SoupReceiver::Read(int64_t now_ns) {
  const std::span<std::byte> room = session_->Room();
  const ssize_t received = recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (received <= 0) {
    Lose(received == 0 ? "closed" : Message(ErrnoStatus(errno, "recv")), now_ns);
    return true;
  }
  const bool was_streaming = session_->is_streaming();
  const int64_t packets = session_->packets();
  session_->Take(static_cast<size_t>(received), now_ns);
  traffic_.packets += session_->packets() - packets;
  traffic_.bytes += received;
  AfterRead(now_ns, was_streaming);
  return static_cast<size_t>(received) < room.size();
}

void SoupReceiver::AfterRead(int64_t now_ns, bool was_streaming) {
  const std::string name = session_->session();
  const SoupState state = session_->state();
  const bool has_ended = name == ended_;  // Unless it goes on after all.
  const bool logged_in = state == SoupState::kStreaming || state == SoupState::kEnded;
  if (logged_in && !was_streaming && !has_ended && accepted_limit_.Pass()) {
    LogInfo("logged in line={} session={} seq={} wanted={}", server_.ToString(), name,
            session_->next_seq() - static_cast<uint64_t>(session_->messages()),
            session_->login().next_seq);
  }
  const bool may_choose = options_.session.empty();
  if (!name.empty() && may_choose) continued_ = name;
  switch (state) {
    case SoupState::kLoggingIn:
    case SoupState::kStreaming:
      return;
    case SoupState::kRejected:
      return OnRejected(now_ns);
    case SoupState::kBroken:
      ++traffic_.bad;
      if (bad_limit_.Pass()) {
        LogWarn("does not fit line={} bad={} last=\"{}\"", server_.ToString(), traffic_.bad,
                Printable(session_->why()));
      }
      return Lose("it does not fit SoupBinTCP", now_ns);
    case SoupState::kOtherSession:
      if (!may_choose) return Lose(fmt::format("it logs in to session {}", name), now_ns);
      return has_ended ? ConnectAfter(options_.pause_ns_max, now_ns) : ConnectAgain(now_ns);
    case SoupState::kEnded:
      if (!has_ended || session_->messages() > 0) {
        LogInfo("session ended line={} session={} next_seq={}", server_.ToString(), name,
                session_->next_seq());
      }
      if (!may_choose) return Leave();
      ended_ = name;
      continued_.clear();
      return ConnectAfter(options_.pause_ns_max, now_ns);
  }
}

void SoupReceiver::OnRejected(int64_t now_ns) {
  const char reason = session_->reject_reason();
  if (reason == 'A') {
    error_ = absl::PermissionDeniedError(
        fmt::format("{}: the server refuses the login of user '{}': not authorised",
                    server_.ToString(), options_.user));
    return Leave();
  }
  if (login_limit_.Pass()) {
    LogWarn("login rejected line={} reason={} session={} seq={} pause_ms={}", server_.ToString(),
            reason == 'S' ? "no such session" : Printable({&reason, 1}),
            continued_.empty() ? "current" : continued_, session_->login().next_seq,
            pause_ns_ / kNsPerMs);
  }
  // The server may have begun another one.
  if (options_.session.empty()) continued_.clear();
  ConnectAgain(now_ns);
}

void SoupReceiver::Write(int64_t now_ns) {
  session_->OnTime(now_ns);
  std::string& bytes = session_->to_send();
  if (!bytes.empty()) {
    const ssize_t sent =
        send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) bytes.erase(0, static_cast<size_t>(sent));
    // The reason is found when what the server sent before is read.
    if (sent < 0 && errno != EAGAIN && errno != EINTR) bytes.clear();
  }
  SetEvents((paused_ ? 0U : uint32_t{EPOLLIN}) | (bytes.empty() ? 0U : uint32_t{EPOLLOUT}));
}

void SoupReceiver::SetPaused(bool paused) {
  if (paused == paused_) return;
  paused_ = paused;
  if (state_ != State::kConnected) return;
  session_->OnResumed(MonotonicNs());
  SetEvents(paused ? 0U : uint32_t{EPOLLIN});
}

}  // namespace tickstack::feed::live
