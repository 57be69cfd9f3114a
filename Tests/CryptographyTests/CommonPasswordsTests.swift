import Cryptography
import Testing

@Suite struct CommonPasswordsTests {
    @Test(arguments: ["password", "PassWord", "00000000", "zzzzzzzzzz", "1qaz2wsx3edc", "iloveyou"])
    func `a common password is found in any case`(password: String) {
        #expect(CommonPasswords.contains(password.utf8))
    }

    @Test(arguments: ["", "\n", "passwor", "passwordx", "password\n00000000", "\u{212A}iloveyou"])
    func `any other password is not found`(password: String) {
        #expect(!CommonPasswords.contains(password.utf8))
    }
}
