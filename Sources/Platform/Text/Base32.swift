/// Base32 (RFC 4648 section 6) without padding, as authenticator apps take a seed.
package enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    /// Capital letters; the last one is filled with zero bits.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var held = 0
        var bits = 0
        for byte in bytes {
            held = (held << 8 | Int(byte)) & 0xFFF
            bits += 8
            while bits >= 5 {
                bits -= 5
                text.append(alphabet[held >> bits & 31])
            }
        }
        if bits > 0 { text.append(alphabet[held << (5 - bits) & 31]) }
        return String(decoding: text, as: UTF8.self)
    }
}
