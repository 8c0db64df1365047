#include "serve/loop_answers.h"

#include <arpa/inet.h>

#include <string>

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
  connection.ReplyError(ticket, query::QErrorText(answer.status()));
}

absl::Status AnswerOnLoop(wire::Connection& connection, const wire::ReceivedMessage& message,
                          query::Environment& environment) {
  const bool sync = message.kind == wire::MessageKind::kSync;
  const wire::ReplyTicket ticket = sync ? connection.TakeTicket() : 0;
  query::ClientHandle handle(FactsOf(connection), sync);
  const absl::StatusOr<Value> answer =
      query::EvaluateMessage(message.body, environment, query::LoopLimits(), &handle);
  for (const Value& sent : handle.TakeMessages()) connection.SendAsync(sent);
  if (sync) AnswerSync(connection, ticket, answer);
  return answer.status();
}

}  // namespace tickstack::serve
