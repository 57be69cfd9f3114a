import Cryptography
import Testing
import Text

@Suite struct EncodingTests {
    @Test(
        arguments: [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
            ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"), ("\u{7F}\u{3F}>", "fz8-"),
        ])
    func `base64url agrees with RFC 4648 both ways`(plain: String, text: String) {
        #expect(Base64URL.encode(plain.utf8) == text)
        #expect(Base64URL.decode(text) == Array(plain.utf8))
    }

    @Test(arguments: ["Z", "Zg==", "Zh", "Zm9", "Zm9v Zg", "Zm8=", "a+b/", "Zm9vYg\n", "é"])
    func `base64url with padding, stray bits or other characters is refused`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func `hexadecimal is read in either case and refused when odd`() {
        #expect(Hex.decode("00fFA0") == [0, 255, 160])
        #expect(Hex.encode([0, 255, 160]) == "00ffa0")
        #expect(Hex.decode("abc") == nil)
        #expect(Hex.decode("0g") == nil)
    }

    @Test func `random bytes fill any length and differ`() {
        #expect(RandomBytes.make(0).isEmpty)
        #expect(RandomBytes.make(1000).suffix(16) != RandomBytes.make(1000).suffix(16))
    }

    @Test func `comparison in constant time is still comparison`() {
        #expect(constantTimeEqual([1, 2], [1, 2]))
        #expect(!constantTimeEqual([1, 2], [1, 3]))
        #expect(!constantTimeEqual([1, 2], [1]))
    }

    @Test func `a token is hashed only in its own form`() {
        let token = TokenSecret.make()
        #expect(token.utf8.count == 43)
        #expect(TokenSecret.hash(token) == SHA256.hash(Array(token.utf8)))
        #expect(TokenSecret.hash(token + "=") == nil)
        #expect(TokenSecret.hash(String(token.dropLast())) == nil)
    }
}
