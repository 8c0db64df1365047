#pragma once

// Refuses new passwords that are guessed soon. A login attempt takes 0.1 s of a core and failed
// ones are delayed (login_backoff.h), but a few thousand attempts remain possible, and a copy of
// the users file allows as many as somebody pays for.
//
// Passwords that are in the users file already are not checked: only their hashes are known.

#include <string_view>

#include "absl/status/status.h"

namespace tickstack::security {

inline constexpr size_t kPasswordCharactersMin = 8;
inline constexpr size_t kNumberCharactersMin = 12;  // If it has digits alone.

// Returns kInvalidArgument, with the reason, for a password that
//   - has fewer than kPasswordCharactersMin characters, or than kNumberCharactersMin digits alone,
//   - repeats, counts up or follows the keyboard, so that fewer than 5 characters are left to
//     guess,
//   - is a common password, also with digits and punctuation around it, or
//   - consists of the user's name and fewer than kPasswordCharactersMin other characters.
// Cost: a pass over the password for each common password.
absl::Status CheckStrength(std::string_view password, std::string_view user);

}  // namespace tickstack::security
