import CZlib

package enum CRC32 {
    /// The check sum of zlib and Ethernet; against slips of the hand, never against an attacker.
    package static func checksum(_ bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBufferPointer {
            UInt32(truncatingIfNeeded: crc32(0, $0.baseAddress, UInt32($0.count)))
        }
    }
}
