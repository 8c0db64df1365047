#include "security/password_strength.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "base/status.h"

namespace tickstack::security {
namespace {

constexpr size_t kGuessesMin = 5;
// Longer passwords may contain a common one.
constexpr size_t kAroundCommonMax = 8;

// The letters of the most common passwords, and those that come with other programs.
constexpr auto kCommon = std::to_array<std::string_view>(
    {"password",      "passwort", "passwd",   "pass",     "letmein",  "welcome",  "admin",
     "administrator", "root",     "qwerty",   "qwertz",   "azerty",   "iloveyou", "monkey",
     "dragon",        "football", "baseball", "master",   "sunshine", "princess", "shadow",
     "superman",      "batman",   "trustno",  "changeme", "changeit", "secret",   "default",
     "login",         "abc",      "test",     "testing",  "guest",    "user",     "hello",
     "whatever",      "starwars", "computer", "internet", "michael",  "jennifer", "jordan",
     "hunter",        "harley",   "ranger",   "thomas",   "robert",   "soccer",   "hockey",
     "killer",        "george",   "charlie",  "andrew",   "michelle", "access",   "freedom",
     "mustang",       "flower",   "summer",   "winter",   "trader",   "trading",  "market",
     "kdb",           "kx",       "tickstack"});
constexpr std::array<std::string_view, 4> kKeyboard = {"1234567890", "qwertyuiop", "asdfghjkl",
                                                       "zxcvbnm"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }
// True for a byte of UTF-8 that begins no character.
bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// Returns the letter that a digit or sign is often written for.
char LetterFor(char c) {
  switch (c) {
    case '0':
      return 'o';
    case '1':
    case '!':
      return 'i';
    case '3':
      return 'e';
    case '4':
    case '@':
      return 'a';
    case '5':
    case '$':
      return 's';
    case '7':
      return 't';
    default:
      return c;
  }
}

size_t Characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return !Continues(c); }));
}

bool AreNeighbours(char one, char other) {
  if (one == other || one + 1 == other || one - 1 == other) return true;
  return std::ranges::any_of(kKeyboard, [&](std::string_view row) {
    const size_t a = row.find(one), b = row.find(other);
    return a != std::string_view::npos && b != std::string_view::npos && (a + 1 == b || b + 1 == a);
  });
}

// Returns the number of characters that do not follow from the one before.
size_t Guesses(std::string_view lower) {
  size_t guesses = 0;
  for (size_t i = 0; i < lower.size(); ++i) {
    if (Continues(lower[i])) continue;
    guesses += i == 0 || !AreNeighbours(lower[i - 1], lower[i]) ? 1 : 0;
  }
  return std::min(guesses, std::set<char>(lower.begin(), lower.end()).size());
}

// True if the password is a common one, with a few other characters before and after it.
bool IsCommon(std::string_view lower) {
  std::string letters(lower);
  std::ranges::transform(letters, letters.begin(), LetterFor);
  return std::ranges::any_of(kCommon, [&](std::string_view common) {
    for (const std::string_view text : {lower, std::string_view(letters)}) {
      for (size_t at = text.find(common); at != std::string_view::npos;
           at = text.find(common, at + 1)) {
        const std::string_view around[] = {lower.substr(0, at), lower.substr(at + common.size())};
        const bool only_signs = std::ranges::none_of(
            around, [](std::string_view part) { return std::ranges::any_of(part, IsLetter); });
        if (only_signs && lower.size() - common.size() <= kAroundCommonMax) return true;
      }
    }
    return false;
  });
}

std::string Without(std::string_view text, std::string_view part) {
  std::string rest(text);
  for (size_t at = rest.find(part); at != std::string::npos && !part.empty(); at = rest.find(part))
    rest.erase(at, part.size());
  return rest;
}

}  // namespace

absl::Status CheckStrength(std::string_view password, std::string_view user) {
  const size_t characters = Characters(password);
  if (characters < kPasswordCharactersMin) {
    return InvalidArgument(
        "weak password: expected at least {} characters, found {}: several words are easier to "
        "remember than signs",
        kPasswordCharactersMin, characters);
  }
  if (std::ranges::all_of(password, IsDigit) && characters < kNumberCharactersMin) {
    return InvalidArgument(
        "weak password: {} digits alone: expected at least {}, or other characters, too",
        characters, kNumberCharactersMin);
  }
  const std::string lower = LowerCase(password), name = LowerCase(user);
  if (Guesses(lower) < kGuessesMin) {
    return InvalidArgument(
        "weak password: it repeats, counts or follows the keyboard: expected at least {} "
        "characters that do not follow from the one before",
        kGuessesMin);
  }
  if (IsCommon(lower)) {
    return InvalidArgument(
        "weak password: it is one of the most common ones: expected other words, or several");
  }
  const std::string rest = Without(lower, name);
  if (rest != lower && Characters(rest) < kPasswordCharactersMin) {
    return InvalidArgument(
        "weak password: it has little beside the name of the user: expected at least {} other "
        "characters",
        kPasswordCharactersMin);
  }
  return absl::OkStatus();
}

}  // namespace tickstack::security
