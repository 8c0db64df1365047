#pragma once

namespace tickstack::wire {

// Makes the kernel probe a silent TCP connection and end it when nothing answers: a peer whose
// machine lost power or its network sends no goodbye. After kKeepAliveIdleS of silence follow
// kKeepAliveProbes probes, kKeepAliveIntervalS apart, so a dead peer is found within 30 s. A peer
// that merely does not read still answers probes and is not disconnected.
//
// TCP_USER_TIMEOUT is not set, because it would also end connections to peers that legitimately
// leave bytes unread, such as a subscriber that replays, or a tickerplant whose disk is full.
//
// Has no effect on a Unix socket.
inline constexpr int kKeepAliveIdleS = 10;
inline constexpr int kKeepAliveIntervalS = 5;
inline constexpr int kKeepAliveProbes = 4;
void KeepAlive(int socket);

}  // namespace tickstack::wire
