/// A field value with parameters (RFC 9110 §5.6.6): `form-data; name="file"`.
package struct HeaderParameters: Sendable {
    /// In lower case.
    package let value: String
    /// By their names in lower case; a name that is given twice has no value. None if one is malformed.
    private var values: [String: String?] = [:]

    package init(_ text: String) {
        var rest = Array(text.utf8)[...]
        value = Self.text(Self.take(&rest) { $0 != 0x3B }).lowercased()
        while rest.popFirst() != nil {
            while rest.first == 0x20 || rest.first == 0x09 { rest.removeFirst() }
            let name = String(decoding: Self.take(&rest, while: isToken), as: UTF8.self)
                .lowercased()
            guard rest.popFirst() == 0x3D, let content = Self.content(&rest) else {
                values = [:]
                return
            }
            values[name] = .some(values[name] == nil ? content : nil)
            while rest.first == 0x20 || rest.first == 0x09 { rest.removeFirst() }
            guard rest.isEmpty || rest.first == 0x3B else {
                values = [:]
                return
            }
        }
    }

    package subscript(name: String) -> String? { values[name] ?? nil }

    /// Without spaces and tabs around it.
    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        var bytes = bytes
        while bytes.first == 0x20 || bytes.first == 0x09 { bytes.removeFirst() }
        while bytes.last == 0x20 || bytes.last == 0x09 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func content(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard rest.first == 0x22 else {
            return String(validating: take(&rest, while: isToken), as: UTF8.self)
        }
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == 0x22 { return String(validating: bytes, as: UTF8.self) }
            if byte == 0x5C, let escaped = rest.popFirst() {
                bytes.append(escaped)
            } else {
                bytes.append(byte)
            }
        }
        return nil
    }

    private static func take(
        _ rest: inout ArraySlice<UInt8>, while isWanted: (UInt8) -> Bool
    ) -> ArraySlice<UInt8> {
        let taken = rest.prefix(while: isWanted)
        rest = rest.dropFirst(taken.count)
        return taken
    }
}
