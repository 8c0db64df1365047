#pragma once

// Rows of the table note, whose column of nested values may have what no file can store: functions,
// the null `::` among them. A tickerplant refuses these. Its log may have them nevertheless, from
// an earlier version. Then the day is written with strings in their place.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "table/value.h"

namespace tickstack::simulate {

inline constexpr std::string_view kNoteTable = "note";
// The name under which the rows of an earlier version are numbered.
inline constexpr std::string_view kEarlierVersion = "earlier";

// Returns the nested value of row n. Some cannot be stored.
Value NoteOf(size_t n);
// Returns what a database has of NoteOf(n).
Value StoredNoteOf(size_t n);
// True if NoteOf(n) cannot be stored.
bool IsUnstorable(size_t n);

// Returns an encoded value as the text of a cell.
std::string TextOfNote(std::span<const std::byte> encoded);
std::string TextOfNote(const Value& value);

}  // namespace tickstack::simulate
