#include "tests/simulate/network.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <utility>

#include "base/status.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

namespace asio = boost::asio;

// One end of a connection.
class Stream final : public wire::Transport {
 public:
  Stream(Process& process, std::unique_ptr<wire::Transport> inner,
         std::shared_ptr<Connections::Pair> pair, Stream* Connections::Pair::* own_end)
      : process_(process),
        inner_(std::move(inner)),
        pair_(std::move(pair)),
        own_end_(own_end),
        number_(connections().next_++),
        latency_ns_(DrawLatency(process.world())),
        delay_(inner_->loop().time().MakeAlarm([this] { EndDelay(); })) {
    (*pair_).*own_end_ = this;
    connections().streams_.emplace(number_, this);
  }
  ~Stream() override {
    Close();
    (*pair_).*own_end_ = nullptr;
    connections().streams_.erase(number_);
  }

  // Both ends lose what they have not read. A peer that cannot be reached does not learn of it.
  void Reset() {
    const std::shared_ptr<Connections::Pair> pair = pair_;
    for (Stream* const end : {pair->client, pair->server}) {
      if (end == nullptr || end->reset_ || (end != this && end->IsCut())) continue;
      end->reset_ = true;
      end->EndDelayedRead(asio::error::connection_reset);
      end->inner_->Cancel();
    }
  }
  // Reads that begin from now on end at `until_ns` (monotonic) at the earliest.
  void HoldReads(int64_t until_ns) { held_until_ns_ = until_ns; }
  Process& process() { return process_; }

  void AsyncRead(std::span<std::byte> into, Read done) override {
    if (reset_) return PostRead(std::move(done), asio::error::connection_reset);
    into_ = into;
    delayed_ = std::move(done);
    const int64_t held_until_ns = std::max(held_until_ns_, CutUntilNs());
    if (held_until_ns > process_.world().MonotonicNs()) return delay_->Set(held_until_ns);
    const Chances& chances = process_.world().chances();
    if (latency_ns_ > 0 && chances.latency_ns_max > 0) return ReadAfterLatency();
    Random& random = process_.world().random();
    if (chances.slow_read == 0 || !random.OneIn(chances.slow_read)) return StartRead();
    delay_->Set(process_.world().MonotonicNs() + random.Between(1, chances.slow_read_ns));
  }

  size_t TryWrite(std::span<const std::span<const std::byte>> pieces, ErrorCode& error) override {
    World& world = process_.world();
    size_t bytes = 0;
    for (const std::span<const std::byte> piece : pieces) bytes += piece.size();
    error = {};
    if (process_.is_dead()) return bytes;
    if (reset_) {
      error = asio::error::connection_reset;
      return 0;
    }
    world.Trace(process_.name(), bytes);
    const Chances& chances = world.chances();
    if (bytes > 1 && chances.short_write > 0 && world.random().OneIn(chances.short_write)) {
      const std::vector<std::span<const std::byte>> part =
          First(pieces, 1 + world.random().Below(bytes - 1));
      return inner_->TryWrite(part, error);
    }
    return inner_->TryWrite(pieces, error);
  }

  void AsyncWaitWritable(Waited done) override { Wait(&Transport::AsyncWaitWritable, done); }
  void AsyncWaitReadable(Waited done) override { Wait(&Transport::AsyncWaitReadable, done); }
  void Cancel() override {
    EndDelayedRead(asio::error::operation_aborted);
    inner_->Cancel();
  }

  bool HasUnread() const override { return !reset_ && !IsCut() && inner_->HasUnread(); }
  bool PeerHasClosed() const override { return reset_ || (!IsCut() && inner_->PeerHasClosed()); }
  void SetUnacknowledgedMax(std::chrono::milliseconds) override {}
  void ShutdownSend() override {
    if (!process_.is_dead()) inner_->ShutdownSend();
  }
  void Close() override {
    EndDelayedRead(asio::error::operation_aborted);
    inner_->Close();
  }
  bool is_open() const override { return inner_->is_open(); }
  wire::PeerName peer() const override { return inner_->peer(); }
  wire::EventLoop& loop() override { return inner_->loop(); }
  std::unique_ptr<wire::DetachedTransport> Detach() override { return nullptr; }

 private:
  Connections& connections() const { return process_.world().connections(); }

  // When what the peer sends arrives.
  int64_t CutUntilNs() const {
    const bool is_client = own_end_ == &Connections::Pair::client;
    const Process* const peer = is_client ? pair_->server_process : pair_->client_process;
    return std::max(pair_->established_ns, connections().CutUntilNs(peer, &process_));
  }
  bool IsCut() const { return CutUntilNs() > process_.world().MonotonicNs(); }

  static std::vector<std::span<const std::byte>> First(
      std::span<const std::span<const std::byte>> pieces, size_t bytes) {
    std::vector<std::span<const std::byte>> part;
    for (const std::span<const std::byte> piece : pieces) {
      part.push_back(piece.first(std::min(piece.size(), bytes)));
      bytes -= part.back().size();
    }
    return part;
  }

  static int64_t DrawLatency(World& world) {
    const int64_t max_ns = world.chances().latency_ns_max;
    return max_ns == 0 ? 0 : world.random().Between(0, max_ns >> world.random().Below(8));
  }

  // Bytes that arrive can be read after the connection's latency.
  void ReadAfterLatency() {
    inner_->AsyncWaitReadable([this, alive = std::weak_ptr(alive_)](ErrorCode) {
      if (alive.expired() || !delayed_) return;
      delay_->Set(process_.world().MonotonicNs() + latency_ns_);
    });
  }

  void StartRead() {
    inner_->AsyncRead(into_, [this, alive = std::weak_ptr(alive_), done = std::move(delayed_)](
                                 ErrorCode error, size_t bytes) mutable {
      if (!alive.expired() && reset_) error = asio::error::connection_reset;
      const bool is_late = !alive.expired() && !reset_ && IsCut();
      if (!is_late || error == asio::error::operation_aborted)
        return done(error, error ? 0 : bytes);
      late_ = {std::move(done), error, bytes};
      delay_->Set(CutUntilNs());
    });
  }

  void EndDelay() {
    if (IsCut()) return delay_->Set(CutUntilNs());
    if (!late_.done) return StartRead();
    Late late = std::exchange(late_, {});
    late.done(late.error, late.error ? 0 : late.bytes);
  }

  void EndDelayedRead(const ErrorCode& error) {
    delay_->Cancel();
    if (delayed_) PostRead(std::exchange(delayed_, nullptr), error);
    if (late_.done) PostRead(std::exchange(late_, {}).done, error);
  }

  void PostRead(Read done, const ErrorCode& error) {
    // A std::function must be copyable.
    loop().Post([done = std::make_shared<Read>(std::move(done)), error] { (*done)(error, 0); });
  }

  void Wait(void (Transport::*wait)(Waited), Waited& done) {
    // What a reset connection is used for next will fail.
    if (reset_) {
      return loop().Post([done = std::make_shared<Waited>(std::move(done))] { (*done)({}); });
    }
    ((*inner_).*
     wait)([this, alive = std::weak_ptr(alive_), done = std::move(done)](ErrorCode error) mutable {
      if (!alive.expired() && reset_) error = {};
      done(error);
    });
  }

  Process& process_;
  const std::unique_ptr<wire::Transport> inner_;
  const std::shared_ptr<Connections::Pair> pair_;
  Stream* Connections::Pair::* const own_end_;
  const uint64_t number_;
  const int64_t latency_ns_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  bool reset_ = false;
  int64_t held_until_ns_ = 0;
  std::span<std::byte> into_;
  Read delayed_;
  // A read that has ended, but the network was cut before its bytes arrived.
  struct Late {
    Read done;
    ErrorCode error;
    size_t bytes = 0;
  };
  Late late_;
  const std::unique_ptr<wire::Alarm> delay_;
};

class ProcessListener final : public wire::Listener {
 public:
  ProcessListener(Process& process, std::string address, std::unique_ptr<wire::Listener> inner)
      : process_(process), address_(std::move(address)), inner_(std::move(inner)) {
    connections().arriving_[address_].clear();
    connections().listening_[address_] = &process_;
  }
  ~ProcessListener() override {
    connections().arriving_.erase(address_);
    connections().listening_.erase(address_);
  }

  void AsyncAccept(Accepted done) override {
    inner_->AsyncAccept([this, done = std::move(done)](
                            const wire::Transport::ErrorCode& error,
                            std::unique_ptr<wire::Transport> accepted) mutable {
      if (accepted == nullptr) return done(error, nullptr);
      std::deque<std::shared_ptr<Connections::Pair>>& arriving = connections().arriving_[address_];
      std::shared_ptr<Connections::Pair> pair = std::move(arriving.front());
      arriving.pop_front();
      done(error, std::make_unique<Stream>(process_, std::move(accepted), std::move(pair),
                                           &Connections::Pair::server));
    });
  }
  uint16_t port() const override { return inner_->port(); }

 private:
  Connections& connections() { return process_.world().connections(); }

  Process& process_;
  const std::string address_;
  const std::unique_ptr<wire::Listener> inner_;
};

void Connections::ResetAllOf(Process& process) {
  for (const auto& [number, stream] : streams_) {
    if (&stream->process() == &process) stream->Reset();
  }
}

void Connections::CloseAllOf(Process& process) {
  for (const auto& [number, stream] : streams_) {
    if (&stream->process() == &process) stream->Close();
  }
}

void Connections::CloseAllOn(const wire::EventLoop& loop) {
  for (const auto& [number, stream] : streams_) {
    if (&stream->loop() == &loop) stream->Close();
  }
}

Stream* Connections::Pick(uint64_t number) const {
  if (streams_.empty()) return nullptr;
  return std::next(streams_.begin(), static_cast<std::ptrdiff_t>(number % streams_.size()))->second;
}

void Connections::Cut(const Process& from, const Process& to, int64_t until_ns) {
  int64_t& cut_until_ns = cuts_[{&from, &to}];
  cut_until_ns = std::max(cut_until_ns, until_ns);
}

int64_t Connections::CutUntilNs(const Process* from, const Process* to) const {
  const auto found = cuts_.find({from, to});
  return found == cuts_.end() ? 0 : found->second;
}

void Connections::ResetOne(uint64_t number) {
  if (Stream* const stream = Pick(number)) stream->Reset();
}

void Connections::HoldOne(uint64_t number, int64_t until_ns) {
  if (Stream* const stream = Pick(number)) stream->HoldReads(until_ns);
}

absl::StatusOr<std::unique_ptr<wire::Listener>> ProcessNetwork::Listen(
    wire::EventLoop& loop, const wire::Address& address) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<wire::Listener> inner,
                      process_.world().wires().Listen(loop, address));
  return std::make_unique<ProcessListener>(process_, address.ToString(), std::move(inner));
}

absl::StatusOr<std::unique_ptr<wire::Transport>> ProcessNetwork::Connect(
    wire::EventLoop& loop, const wire::Address& address, wire::Transport::Waited done) {
  Connections& connections = process_.world().connections();
  auto pair = std::make_shared<Connections::Pair>();
  // Nobody listens at that port.
  const wire::Address& reached =
      process_.is_cut_off() ? wire::Address{address.host, 1, ""} : address;
  if (const auto found = connections.arriving_.find(reached.ToString());
      found != connections.arriving_.end()) {
    found->second.push_back(pair);
    Process* const server = connections.listening_[reached.ToString()];
    pair->client_process = &process_;
    pair->server_process = server;
    pair->established_ns = std::max(connections.CutUntilNs(&process_, server),
                                    connections.CutUntilNs(server, &process_));
  }
  TS_ASSIGN_OR_RETURN(std::unique_ptr<wire::Transport> inner,
                      process_.world().wires().Connect(loop, reached, std::move(done)));
  return std::make_unique<Stream>(process_, std::move(inner), std::move(pair),
                                  &Connections::Pair::client);
}

}  // namespace tickstack::simulate
