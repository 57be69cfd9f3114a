/// Why bytes are not one CBOR value in the canonical form of CTAP2.
package enum CBORFault: String, Error, Sendable, Equatable {
    /// The bytes end inside a value, or a length reaches beyond them.
    case truncated
    case trailingBytes = "trailing_bytes"
    case indefiniteLength = "indefinite_length"
    /// A number or a length in more bytes than it needs.
    case notShortest = "not_shortest"
    case duplicateKey = "duplicate_key"
    case unsortedKeys = "unsorted_keys"
    /// A key of a map that is neither a number nor text.
    case keyRefused = "key_refused"
    case tooDeep = "too_deep"
    case tooManyValues = "too_many_values"
    case tooLong = "too_long"
    case notUTF8 = "not_utf8"
    /// Tags, floating-point numbers, null, undefined and reserved values: nothing here needs them.
    case unsupported
}
