#include "wire/memory_network.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <deque>
#include <utility>
#include <vector>

#include "base/status.h"
#include "wire/event_loop.h"

namespace tickstack::wire {

namespace asio = boost::asio;
using ErrorCode = Transport::ErrorCode;

// One side of a connection. Operations are completed by Advance, which is always posted.
struct MemoryNetwork::End : std::enable_shared_from_this<End> {
  End(EventLoop& its_loop, size_t its_unread_bytes_max)
      : loop(&its_loop), unread_bytes_max(its_unread_bytes_max) {}

  void Post() {
    if (loop == nullptr) return;
    loop->Post([self = shared_from_this()] { self->Advance(); });
  }
  std::shared_ptr<End> Peer() const { return peer.lock(); }
  bool PeerHasClosed() const {
    const std::shared_ptr<End> other = Peer();
    return other == nullptr || other->sent_all;
  }
  bool IsReadable() const { return !unread.empty() || PeerHasClosed(); }

  // An operation is taken out before its callback is called, because that may start the next one.
  void Advance() {
    if (!open) return Abort();
    if (pending.read && IsReadable()) {
      const size_t bytes = std::min(into.size(), unread.size());
      std::copy_n(unread.begin(), bytes, into.begin());
      unread.erase(unread.begin(), unread.begin() + static_cast<std::ptrdiff_t>(bytes));
      if (const std::shared_ptr<End> other = Peer(); other != nullptr && bytes > 0) other->Post();
      const ErrorCode error = bytes == 0 ? ErrorCode(asio::error::eof) : ErrorCode();
      std::exchange(pending.read, nullptr)(error, bytes);
    }
    if (pending.readable && IsReadable()) std::exchange(pending.readable, nullptr)({});
    if (pending.writable && IsWritable()) std::exchange(pending.writable, nullptr)({});
  }

  // Ends what is pending. Moved out at once, because a callback may own this end.
  void Abort() {
    auto aborted = std::make_shared<Pending>(std::exchange(pending, {}));
    if (loop == nullptr) return;
    loop->Post([aborted] {
      const ErrorCode error = asio::error::operation_aborted;
      if (aborted->read) aborted->read(error, 0);
      if (aborted->readable) aborted->readable(error);
      if (aborted->writable) aborted->writable(error);
    });
  }

  bool IsWritable() const {
    const std::shared_ptr<End> other = Peer();
    return other == nullptr || !other->open || other->unread.size() < other->unread_bytes_max;
  }

  void Close() {
    if (!open) return;
    open = false;
    sent_all = true;
    Abort();
    if (const std::shared_ptr<End> other = Peer()) other->Post();
  }

  EventLoop* loop;
  const size_t unread_bytes_max;
  std::weak_ptr<End> peer;
  std::string peer_name;
  std::vector<std::byte> unread;
  bool open = true;
  bool sent_all = false;  // Nothing follows what was written.
  std::span<std::byte> into;
  struct Pending {
    Transport::Read read;
    Transport::Waited readable, writable;
  };
  Pending pending;
};

namespace {

using End = MemoryNetwork::End;

class MemoryTransport final : public Transport {
 public:
  explicit MemoryTransport(std::shared_ptr<End> end) : end_(std::move(end)) {}
  ~MemoryTransport() override {
    if (end_ != nullptr) end_->Close();
  }

  void AsyncRead(std::span<std::byte> into, Read done) override {
    end_->into = into;
    end_->pending.read = std::move(done);
    end_->Post();
  }

  size_t TryWrite(std::span<const std::span<const std::byte>> pieces, ErrorCode& error) override {
    const std::shared_ptr<End> other = end_->Peer();
    error = {};
    if (!end_->open) error = asio::error::bad_descriptor;
    if (!error && (end_->sent_all || other == nullptr || !other->open)) {
      error = asio::error::broken_pipe;
    }
    if (!error && !end_->IsWritable()) error = asio::error::would_block;
    if (error) return 0;
    size_t sent = 0;
    for (std::span<const std::byte> piece : pieces) {
      piece = piece.first(std::min(piece.size(), other->unread_bytes_max - other->unread.size()));
      other->unread.insert(other->unread.end(), piece.begin(), piece.end());
      sent += piece.size();
    }
    other->Post();
    return sent;
  }

  void AsyncWaitWritable(Waited done) override {
    end_->pending.writable = std::move(done);
    end_->Post();
  }
  void AsyncWaitReadable(Waited done) override {
    end_->pending.readable = std::move(done);
    end_->Post();
  }
  void Cancel() override { end_->Abort(); }

  bool HasUnread() const override { return !end_->unread.empty(); }
  bool PeerHasClosed() const override { return end_->PeerHasClosed(); }
  void SetUnacknowledgedMax(std::chrono::milliseconds) override {}

  void ShutdownSend() override {
    end_->sent_all = true;
    if (const std::shared_ptr<End> other = end_->Peer()) other->Post();
  }
  void Close() override { end_->Close(); }
  bool is_open() const override { return end_->open; }
  PeerName peer() const override { return {.text = end_->peer_name, .local = true}; }
  EventLoop& loop() override { return *end_->loop; }
  std::unique_ptr<DetachedTransport> Detach() override;

 private:
  std::shared_ptr<End> end_;
};

class DetachedEnd final : public DetachedTransport {
 public:
  explicit DetachedEnd(std::shared_ptr<End> end) : end_(std::move(end)) {}
  ~DetachedEnd() override {
    if (end_ != nullptr) end_->Close();
  }
  std::unique_ptr<Transport> Attach(EventLoop& loop) override {
    end_->loop = &loop;
    return std::make_unique<MemoryTransport>(std::exchange(end_, nullptr));
  }

 private:
  std::shared_ptr<End> end_;
};

std::unique_ptr<DetachedTransport> MemoryTransport::Detach() {
  if (!end_->open) return nullptr;
  // What this transport is afterwards: closed.
  auto left = std::make_shared<End>(*end_->loop, end_->unread_bytes_max);
  left->Close();
  return std::make_unique<DetachedEnd>(std::exchange(end_, std::move(left)));
}

std::string KeyOf(const Address& address) {
  return address.is_unix() ? address.unix_path : std::to_string(address.port);
}

}  // namespace

class MemoryNetwork::MemoryListener final : public Listener {
 public:
  MemoryListener(MemoryNetwork& network, EventLoop& loop, Address address)
      : network_(network), loop_(loop), address_(std::move(address)) {
    network_.listeners_.emplace(KeyOf(address_), this);
  }
  ~MemoryListener() override {
    network_.listeners_.erase(KeyOf(address_));
    if (!on_accepted_) return;
    // A std::function must be copyable.
    auto done = std::make_shared<Accepted>(std::move(on_accepted_));
    loop_.Post([done] { (*done)(asio::error::operation_aborted, nullptr); });
  }

  void AsyncAccept(Accepted done) override {
    on_accepted_ = std::move(done);
    PostNext();
  }
  uint16_t port() const override { return address_.port; }

  // Returns the client's end.
  std::shared_ptr<End> Connect(EventLoop& from) {
    const std::shared_ptr<End> client = network_.MakeEnd(from), server = network_.MakeEnd(loop_);
    client->peer = server;
    server->peer = client;
    const bool is_unix = address_.is_unix();
    client->peer_name = is_unix ? "unix" : fmt::format("127.0.0.1:{}", address_.port);
    server->peer_name = is_unix ? "unix" : fmt::format("127.0.0.1:{}", network_.next_port_++);
    waiting_.push_back(std::make_unique<MemoryTransport>(server));
    PostNext();
    return client;
  }

 private:
  void PostNext() {
    loop_.Post([this, alive = std::weak_ptr<int>(alive_)] {
      if (alive.expired() || waiting_.empty() || !on_accepted_) return;
      std::unique_ptr<Transport> next = std::move(waiting_.front());
      waiting_.pop_front();
      std::exchange(on_accepted_, nullptr)({}, std::move(next));
    });
  }

  MemoryNetwork& network_;
  EventLoop& loop_;
  const Address address_;
  Accepted on_accepted_;
  std::deque<std::unique_ptr<Transport>> waiting_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

MemoryNetwork::MemoryNetwork() = default;

MemoryNetwork::~MemoryNetwork() {
  std::vector<End::Pending> left;
  for (const std::weak_ptr<End>& weak : ends_) {
    const std::shared_ptr<End> end = weak.lock();
    if (end == nullptr) continue;
    end->loop = nullptr;
    left.push_back(std::move(end->pending));
  }
}

std::shared_ptr<MemoryNetwork::End> MemoryNetwork::MakeEnd(EventLoop& loop) {
  auto end = std::make_shared<End>(loop, unread_bytes_max_);
  std::erase_if(ends_, [](const std::weak_ptr<End>& weak) { return weak.expired(); });
  ends_.push_back(end);
  return end;
}

absl::StatusOr<std::unique_ptr<Listener>> MemoryNetwork::Listen(EventLoop& loop,
                                                                const Address& address) {
  Address bound = address;
  if (!bound.is_unix() && bound.port == 0) bound.port = next_port_++;
  if (listeners_.contains(KeyOf(bound))) return Unavailable("{}: in use", bound.ToString());
  return std::make_unique<MemoryListener>(*this, loop, std::move(bound));
}

absl::StatusOr<std::unique_ptr<Transport>> MemoryNetwork::Connect(EventLoop& loop,
                                                                  const Address& address,
                                                                  Transport::Waited done) {
  const auto listener = listeners_.find(KeyOf(address));
  const bool refused = listener == listeners_.end();
  const std::shared_ptr<End> end = refused ? MakeEnd(loop) : listener->second->Connect(loop);
  // A std::function must be copyable.
  auto shared = std::make_shared<Transport::Waited>(std::move(done));
  loop.Post([end, shared, refused] {
    (*shared)(refused     ? ErrorCode(asio::error::connection_refused)
              : end->open ? ErrorCode()
                          : ErrorCode(asio::error::operation_aborted));
  });
  return std::make_unique<MemoryTransport>(end);
}

}  // namespace tickstack::wire
