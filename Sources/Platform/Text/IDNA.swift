import CIdn2

/// UTS #46, non-transitional. The caller checks the labels for STD3: under its flag the library
/// drops `/`, `_` or a space instead of refusing them, so that `a/b.com` would become `ab.com`.
enum IDNA {
    /// The lower-case A-label form of a host name; nil if it has none. Its labels are unchecked.
    static func ascii(_ name: String) -> [UInt8]? {
        // A zero byte would end the C string early and hide what follows it.
        guard !name.utf8.contains(0), name.utf8.count <= 1024 else { return nil }
        var output: UnsafeMutablePointer<CChar>?
        let flags = IDN2_NONTRANSITIONAL.rawValue | IDN2_NFC_INPUT.rawValue
        guard idn2_to_ascii_8z(name, &output, Int32(flags)) == IDN2_OK.rawValue, let output else {
            return nil
        }
        defer { idn2_free(output) }
        return ASCII.lower(bytes(output))
    }

    /// The U-label form, for display; the name itself if it has none.
    static func unicode(_ name: String) -> String {
        var output: UnsafeMutablePointer<CChar>?
        guard idn2_to_unicode_8z8z(name, &output, 0) == IDN2_OK.rawValue, let output else {
            return name
        }
        defer { idn2_free(output) }
        return String(validating: bytes(output), as: UTF8.self) ?? name
    }

    private static func bytes(_ text: UnsafeMutablePointer<CChar>) -> [UInt8] {
        var bytes: [UInt8] = []
        var at = 0
        while text[at] != 0 {
            bytes.append(UInt8(bitPattern: text[at]))
            at += 1
        }
        return bytes
    }
}
