// Character classes of RFC 9110 §5.6. They work on bytes and never on `Character`, which merges CR
// LF into a single value.

/// Bit sets of the token characters: `tokenLow` for the bytes below 64, `tokenHigh` for 64 to 127.
private let tokenLow: UInt64 = 0x03FF_6CFA_0000_0000
private let tokenHigh: UInt64 = 0x57FF_FFFF_C7FF_FFFE

/// Whether the byte is a token character (RFC 9110 §5.6.2).
@inline(__always)
func isToken(_ byte: UInt8) -> Bool {
    guard byte < 128 else { return false }
    return (byte < 64 ? tokenLow : tokenHigh) >> UInt64(byte & 63) & 1 == 1
}

@inline(__always)
func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 <= 9 }

@inline(__always)
func isAlphanumeric(_ byte: UInt8) -> Bool { isDigit(byte) || (byte | 0x20) &- 0x61 < 26 }

/// Whether a field value may contain the byte (RFC 9110 §5.5): visible ASCII, space, tab, or any
/// byte above ASCII.
@inline(__always)
func isFieldValue(_ byte: UInt8) -> Bool { (byte >= 0x20 && byte != 0x7F) || byte == 0x09 }

/// Whether the bytes equal `lower`, a lower-case ASCII text, ignoring the case of letters.
@inline(__always)
func matches(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ lower: StaticString) -> Bool {
    guard count == lower.utf8CodeUnitCount else { return false }
    let other = lower.utf8Start
    for index in 0..<count where bytes[index] != other[index] {
        let byte = bytes[index]
        guard byte &- 0x41 < 26, byte | 0x20 == other[index] else { return false }
    }
    return true
}

/// Whether a client's request identifier is valid: 1 to 128 characters of `[A-Za-z0-9._-]`.
func isRequestID(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard !bytes.isEmpty, bytes.count <= 128 else { return false }
    return bytes.allSatisfy { isAlphanumeric($0) || $0 == 0x2E || $0 == 0x5F || $0 == 0x2D }
}
