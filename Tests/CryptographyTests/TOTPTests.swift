import Cryptography
import Testing
import Text

/// Time-based one-time passwords against the vectors of RFC 6238 and RFC 4226.
struct TOTPTests {
    private static let totp = TOTP(seed: Array("12345678901234567890".utf8))

    @Test(
        arguments: [
            (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"), (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
        ] as [(Int64, String)])
    func `the codes are those of RFC 6238, appendix B`(seconds: Int64, code: String) {
        #expect(Self.totp.code(of: TOTP.step(at: seconds), digits: 8) == code)
        #expect(Self.totp.code(of: TOTP.step(at: seconds)) == code.suffix(6))
    }

    @Test func `the codes of six digits are those of RFC 4226, appendix D`() {
        let codes = (0..<10).map { Self.totp.code(of: $0) }
        #expect(
            codes == [
                "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583",
                "399871", "520489",
            ])
    }

    @Test func `a code is good one step before and after, and never after a later one`() {
        let now: Int64 = 1_111_111_109
        let step = TOTP.step(at: now)
        for (drift, found) in [(-2, false), (-1, true), (0, true), (1, true), (2, false)] {
            let code = Self.totp.code(of: step + Int64(drift))
            #expect((Self.totp.step(of: code, at: now, after: 0) != nil) == found, "\(drift)")
        }
        let code = Self.totp.code(of: step)
        #expect(Self.totp.step(of: code, at: now, after: step - 1) == step)
        #expect(Self.totp.step(of: code, at: now, after: step) == nil)
        #expect(Self.totp.step(of: "", at: now, after: 0) == nil)
        #expect(Self.totp.step(of: code + "0", at: now, after: 0) == nil)
    }

    @Test func `a seed is written in Base32 as RFC 4648 has it`() {
        let pairs = [
            ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"), ("foobar", "MZXW6YTBOI"),
        ]
        for (plain, text) in pairs { #expect(Base32.encode(Array(plain.utf8)) == text) }
    }
}
