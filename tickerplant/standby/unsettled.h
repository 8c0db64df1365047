#pragma once

// What clients get from a new leader whose log is not settled (replication.h). Its last rows may be
// of a leader that never logged them, so no client may learn of any row.
//
// Threads: the connection's loop.

#include <optional>
#include <string_view>

#include "wire/connection.h"

namespace tickstack::tickerplant {

// Answers a message with an error, if it is a sync query, and closes its connection: the client
// tries again, and may find this leader ready or another one. Returns false, and does nothing, for
// what is answered all the same: messages of standbys, which settle the log, and `.u.replica[]`.
// `verb` is the message's name, as wire::PeekVerb returns it.
bool RefuseUnsettled(wire::Connection& connection, const wire::ReceivedMessage& message,
                     const std::optional<std::string_view>& verb);

}  // namespace tickstack::tickerplant
