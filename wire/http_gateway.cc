#include "wire/http_gateway.h"

#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "base/logging.h"
#include "wire/connection_counts.h"
#include "wire/http_sessions.h"

namespace tickstack::wire {

struct HttpGateway::Impl {
  Impl(const HttpOptions& options, ConnectInside connect)
      : sessions(options, std::move(connect)), thread([this] { sessions.Run(); }) {}
  HttpSessions sessions;
  std::thread thread;
};

HttpGateway::HttpGateway(const HttpOptions& options, ConnectInside connect)
    : impl_(std::make_unique<Impl>(options, std::move(connect))) {}

HttpGateway::~HttpGateway() {
  impl_->sessions.loop.Post([impl = impl_.get()] { impl->sessions.Close(); });
  impl_->thread.join();
}

void HttpGateway::Take(AcceptedHttpClient client) {
  // A std::function must be copyable.
  auto shared = std::make_shared<AcceptedHttpClient>(std::move(client));
  impl_->sessions.loop.Post([impl = impl_.get(), shared] {
    std::unique_ptr<Transport> transport = shared->transport->Attach(impl->sessions.loop);
    if (transport == nullptr) return;
    if (impl->sessions.MakePlace()) {
      return RunHttpSession(impl->sessions, std::move(transport), std::move(*shared));
    }
    constexpr std::string_view kBusy =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    const std::span<const std::byte> busy = std::as_bytes(std::span(kBusy));
    Transport::ErrorCode ignored;
    transport->TryWrite({&busy, 1}, ignored);  // Bytes that do not fit are not sent.
    ConnectionCounts::OfProcess().CountRefused(RefusedFor::kHttpSessions);
    static LogLimit limit;
    if (const std::optional<uint64_t> withheld = limit.Pass()) {
      LogWarn("http session refused host={} reason=\"{} sessions are busy\" withheld={}",
              shared->peer, impl->sessions.count(), *withheld);
    }
  });
}

}  // namespace tickstack::wire
