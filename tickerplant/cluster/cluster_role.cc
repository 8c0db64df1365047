#include "tickerplant/cluster/cluster_role.h"

#include <chrono>

#include "security/user_rights.h"
#include "serve/guarded_environment.h"
#include "wire/codec.h"

namespace tickstack::tickerplant {

using namespace std::chrono_literals;

namespace {

constexpr auto kRefusalSentMax = 100ms;

}  // namespace

void ClusterRole::OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) {
  const bool is_sync = message.kind == wire::MessageKind::kSync;
  const absl::StatusOr<Value> request = wire::Decode(message.body);
  if (is_sync && request.ok() && AsksForReplica(*request)) {
    // An error may name tables that the client may not know.
    const bool knows_all = security::Access(connection).KnowsAllTables();
    return connection.Reply(connection.TakeTicket(),
                            knows_all ? Stats() : serve::WithholdTexts(Stats()));
  }
  const bool is_query = request.ok() && request->is_string();
  if (is_sync && is_query) connection.ReplyError(connection.TakeTicket(), Refusal());
  connection.CloseWhenSent(kRefusalSentMax);
}

}  // namespace tickstack::tickerplant
