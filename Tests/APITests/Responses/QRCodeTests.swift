import Cryptography
import Testing
import Text

/// QR codes, module by module as another encoder draws them (python-qrcode 8, level M, byte mode,
/// with the mask that is chosen here); versions 1 to 26, with and without padding.
struct QRCodeTests {
    private static func text(_ length: Int) -> [UInt8] {
        let text = "otpauth://totp/" + String(repeating: "aB3%=", count: length / 5 + 1)
        return Array(text.utf8.prefix(length))
    }

    @Test(arguments: [
        (14, 21, "ff942ccc2c48247a1e5c88e3a51ab634db8fceaf1a192614d2d4523d7876d359"),
        (60, 33, "a081bda75fa2142defbaeb8b28ad7e1ce82c6e65305986ca57998419ec4d925b"),
        (120, 45, "ac38278702e80180498d120edea63a0496d44309524ce3355cc3c98c6893cccb"),
        (180, 53, "7a4d0a4d0d926894a352e8fd953fc281ee1353f6ef15e99539b8b9ec86adf354"),
        (300, 69, "7d9be008dd136e1ff76eb9d0216beed4a039f2e212a40b3e3d863e72ef25961f"),
        (1000, 121, "21e9952f751e97ae5eacc2579793bc95f0d9f985ed08f5428b64c304fe912afc"),
    ])
    func `each module of the code agrees with another encoder's`(
        length: Int, size: Int, hash: String
    )
        throws
    {
        let code = try #require(QRCode(Self.text(length)))
        #expect(code.size == size)
        var modules: [UInt8] = []
        for y in 0..<size {
            for x in 0..<size { modules.append(code[x, y] ? 0x31 : 0x30) }
        }
        #expect(Hex.encode(SHA256.hash(modules)) == hash)
    }

    @Test func `the smallest version with room is taken, and too much is refused`() {
        #expect(QRCode(Self.text(14))?.size == 21)
        #expect(QRCode(Self.text(15))?.size == 25)
        #expect(QRCode(Self.text(2331))?.size == 177)
        #expect(QRCode(Self.text(2332)) == nil)
    }
}
