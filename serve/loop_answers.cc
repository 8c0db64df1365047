#include "serve/loop_answers.h"

#include <arpa/inet.h>

#include <string>
#include <utility>

#include "query/columns/errors.h"
#include "query/query.h"

namespace tickstack::serve {
namespace {

// Returns the IPv4 address in a peer's name, such as `192.0.2.1:4242`; 0 if it has none.
int32_t AddressOf(const std::string& peer) {
  in_addr address{};
  const std::string host = peer.substr(0, peer.rfind(':'));
  if (::inet_pton(AF_INET, host.c_str(), &address) != 1) return 0;
  return static_cast<int32_t>(ntohl(address.s_addr));
}

}  // namespace

query::ClientFacts FactsOf(const wire::Connection& connection) {
  const int32_t handle = connection.by_http() ? 0 : connection.handle();
  return {handle, connection.user(), AddressOf(connection.peer())};
}

void AnswerSync(wire::Connection& connection, wire::ReplyTicket ticket,
                const absl::StatusOr<Value>& answer) {
  if (answer.ok()) return connection.Reply(ticket, *answer);
  connection.ReplyError(ticket, query::QErrorText(answer.status()),
                        query::PositionOf(answer.status()));
}

LoopAnswer EvaluateOnLoop(wire::Connection& connection, const wire::ReceivedMessage& message,
                          query::Environment& environment) {
  const bool sync = message.kind == wire::MessageKind::kSync;
  const std::optional<wire::ReplyTicket> ticket =
      sync ? std::optional(connection.TakeTicket()) : std::nullopt;
  query::ClientHandle handle(FactsOf(connection), sync);
  absl::StatusOr<Value> value =
      query::EvaluateMessage(message.body, environment, query::LoopLimits(), &handle);
  return {handle.TakeMessages(), ticket, std::move(value)};
}

void Send(wire::Connection& connection, const LoopAnswer& answer) {
  for (const Value& sent : answer.messages) connection.SendAsync(sent);
  if (answer.ticket.has_value()) AnswerSync(connection, *answer.ticket, answer.value);
}

absl::Status AnswerOnLoop(wire::Connection& connection, const wire::ReceivedMessage& message,
                          query::Environment& environment) {
  const LoopAnswer answer = EvaluateOnLoop(connection, message, environment);
  Send(connection, answer);
  return answer.value.status();
}

}  // namespace tickstack::serve
