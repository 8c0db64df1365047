#pragma once

namespace tickstack::wire {

// Has the kernel probe a TCP connection that is silent, and end it when nothing answers: a peer
// whose machine lost its power or its network says no goodbye. kKeepAliveIdleS of silence, then
// kKeepAliveProbes probes kKeepAliveIntervalS apart: a dead peer is found within 30 s. A peer that
// merely does not read answers probes and is left alone.
//
// TCP_USER_TIMEOUT is not set: it would also end connections to peers that legitimately leave bytes
// unread, such as a subscriber that replays, or a tickerplant whose disk is full.
//
// Nothing happens on a Unix socket.
inline constexpr int kKeepAliveIdleS = 10;
inline constexpr int kKeepAliveIntervalS = 5;
inline constexpr int kKeepAliveProbes = 4;
void KeepAlive(int socket);

}  // namespace tickstack::wire
