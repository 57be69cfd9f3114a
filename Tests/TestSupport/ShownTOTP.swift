import Cryptography

extension TOTP {
    /// The app for a seed as it is shown, in Base32; `nil` if it is not Base32.
    package init?(shown seed: String) {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
        var bytes: [UInt8] = []
        var (held, bits) = (0, 0)
        for letter in seed.utf8 {
            guard let value = alphabet.firstIndex(of: letter) else { return nil }
            held = (held << 5 | value) & 0xFFFF
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(held >> bits & 0xFF))
            }
        }
        self.init(seed: bytes)
    }
}
