/// Bytes that cannot appear in a log or a message by accident.
package struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The value itself: never log it.
    package let bytes: [UInt8]

    /// Keeps the bytes as they are, a trailing newline included.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// UTF-8; invalid bytes become U+FFFD.
    package var text: String { String(decoding: bytes, as: UTF8.self) }
    package var description: String { "(secret)" }
    package var debugDescription: String { "(secret)" }
    /// Empty, so that `dump` shows nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
