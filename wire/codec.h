#pragma once

// Encodes a value as a message. table/codec.h encodes the value itself, because files contain the
// same bytes. Its names are also available in namespace wire.

#include "base/byte_buffer.h"
#include "table/codec.h"
#include "wire/ipc.h"

namespace tickstack::wire {

using tickstack::Decode;
using tickstack::DecodePrefix;
using tickstack::DecodeWithin;
using tickstack::Encode;
using tickstack::EncodedBytes;
using tickstack::kCountMax;
using tickstack::kDepthMax;
using tickstack::ToLittleEndian;
using tickstack::ValueBytes;

// Returns header and body of an uncompressed message. For a value that may be too long, call
// EncodedBytes first: a count beyond kCountMax is a TS_CHECK.
ByteBuffer EncodeMessage(MessageKind kind, const Value& value);

}  // namespace tickstack::wire
