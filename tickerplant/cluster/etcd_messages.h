#pragma once

// The bodies of requests to etcd's JSON gateway and of its answers.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tickerplant/cluster/election_store.h"

namespace tickstack::tickerplant::etcd {

std::string RangeRequest(std::string_view key);
std::string SwapRequest(std::string_view key, uint64_t revision, std::string_view value);
// The caller wipes it: it has the password.
std::string LoginRequest(std::string_view user, std::string_view password);

// kInvalidArgument if the answer has another form.
absl::StatusOr<ElectionStore::Record> ParseRange(std::string_view answer);
absl::StatusOr<ElectionStore::Written> ParseSwap(std::string_view answer, std::string_view value);
// Returns the token of a login. Its error does not quote the answer.
absl::StatusOr<std::string> ParseLogin(std::string_view answer);
// Returns what etcd says in the answer to a request that failed; the answer's begin if it is not of
// etcd, such as a proxy's page.
std::string_view ErrorText(std::string_view answer);

}  // namespace tickstack::tickerplant::etcd
