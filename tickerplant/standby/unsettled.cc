#include "tickerplant/standby/unsettled.h"

#include <chrono>
#include <cstddef>

#include "absl/status/statusor.h"
#include "table/value.h"
#include "tickerplant/standby/replication_messages.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

using namespace std::chrono_literals;

bool RefuseUnsettled(wire::Connection& connection, const wire::ReceivedMessage& message,
                     const std::optional<std::string_view>& verb) {
  if (verb == protocol::kReplicate || verb == protocol::kReplicaAcked ||
      verb == protocol::kReplica) {
    return false;
  }
  // As a standby refuses (cluster_member.h): the next attempt may find this leader ready.
  const bool is_query =
      !message.body.empty() && message.body[0] == static_cast<std::byte>(Type::kChar);
  if (is_query) {
    const absl::StatusOr<Value> request = wire::Decode(message.body);
    if (request.ok() && AsksForReplica(*request)) return false;
  }
  if (is_query && message.kind == wire::MessageKind::kSync) {
    connection.ReplyError(connection.TakeTicket(),
                          "standby: this tickerplant takes over, and waits for its standbys");
  }
  connection.CloseWhenSent(100ms);
  return true;
}

}  // namespace tickstack::tickerplant
