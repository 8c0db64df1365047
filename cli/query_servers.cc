#include "cli/query_servers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "wire/event_loop.h"

namespace tickstack::cli {
namespace {

// One server, with a connection that reconnects.
struct QueryServer final : wire::ClientHandler {
  QueryServer(wire::EventLoop& loop, std::string text, const wire::Address& address,
              const wire::ClientOptions& options)
      : name(std::move(text)), client(loop, address, options, this) {}

  void OnConnected(wire::Connection&) override { failed.reset(); }
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds) override {
    failed = why;
  }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override {}

  const std::string name;
  std::optional<absl::Status> failed;  // Result of the last attempt to connect.
  wire::Client client;
};

}  // namespace

struct QueryServers::Impl {
  std::string names;
  wire::EventLoop loop;
  std::vector<std::unique_ptr<QueryServer>> servers;
  bool interrupted = false;

  // Asks the first `count` servers.
  std::vector<Answered> Ask(const std::string& query, std::chrono::milliseconds timeout,
                            size_t count);
};

QueryServers::QueryServers(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
QueryServers::~QueryServers() = default;

absl::StatusOr<std::unique_ptr<QueryServers>> QueryServers::Connect(
    const std::string& addresses, const wire::ClientOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->names = addresses;
  for (size_t begin = 0; begin <= addresses.size();) {
    const size_t end = std::min(addresses.find(',', begin), addresses.size());
    const std::string text = addresses.substr(begin, end - begin);
    TS_ASSIGN_OR_RETURN(const wire::Address address, wire::ParseAddress(text));
    impl->servers.push_back(std::make_unique<QueryServer>(impl->loop, text, address, options));
    begin = end + 1;
  }
  impl->loop.OnStopSignal([impl = impl.get()](int) { impl->interrupted = true; });
  return std::unique_ptr<QueryServers>(new QueryServers(std::move(impl)));
}

std::vector<QueryServers::Answered> QueryServers::Ask(const std::string& query,
                                                      std::chrono::milliseconds timeout) {
  return impl_->Ask(query, timeout, impl_->servers.size());
}

QueryServers::Answered QueryServers::AskFirst(const std::string& query,
                                              std::chrono::milliseconds timeout) {
  return std::move(impl_->Ask(query, timeout, 1).front());
}

std::vector<QueryServers::Answered> QueryServers::Impl::Ask(const std::string& query,
                                                            std::chrono::milliseconds timeout,
                                                            size_t count) {
  Impl& impl = *this;
  impl.interrupted = false;
  const int64_t begin_ns = MonotonicNs();
  // Shared with the callbacks, which may be called after this function returned.
  auto answers = std::make_shared<std::vector<std::optional<Answered>>>(count);
  std::vector<bool> asked(count);
  for (const std::unique_ptr<QueryServer>& server : impl.servers) server->failed.reset();
  const auto advance = [&] {
    bool done = true;
    for (size_t i = 0; i < count; ++i) {
      QueryServer& server = *impl.servers[i];
      wire::Connection* const connection = server.client.connection();
      // A connection that was just closed exists until the loop has reported it.
      if (!asked[i] && connection != nullptr && connection->is_open()) {
        asked[i] = true;
        connection->Call(Value::String(query),
                         [answers, i, begin_ns, name = server.name](absl::StatusOr<Value> answer) {
                           const double ms = static_cast<double>(MonotonicNs() - begin_ns) / 1e6;
                           (*answers)[i] = Answered{name, std::move(answer), ms};
                         });
      } else if (!asked[i] && server.failed) {
        asked[i] = true;
        (*answers)[i] = Answered{server.name, *server.failed, 0};
      }
      done = done && (*answers)[i].has_value();
    }
    return done || impl.interrupted;
  };
  impl.loop.RunUntil(advance, timeout);
  std::vector<Answered> all;
  for (size_t i = 0; i < count; ++i) {
    if ((*answers)[i]) {
      all.push_back(*std::move((*answers)[i]));
      continue;
    }
    // The server cancels a query whose client disconnects.
    if (wire::Connection* const connection = impl.servers[i]->client.connection()) {
      connection->Close(absl::CancelledError("interrupted"));
    }
    all.push_back({impl.servers[i]->name,
                   impl.interrupted ? absl::CancelledError("interrupted")
                                    : Unavailable("no answer within {:g} s",
                                                  static_cast<double>(timeout.count()) / 1e3),
                   static_cast<double>(MonotonicNs() - begin_ns) / 1e6});
  }
  return all;
}

size_t QueryServers::size() const { return impl_->servers.size(); }
const std::string& QueryServers::names() const { return impl_->names; }

}  // namespace tickstack::cli
