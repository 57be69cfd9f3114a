import JSON

/// Decodes `a=b&c=d` (application/x-www-form-urlencoded) by the declarations; every fault at once.
func decodeQuery(_ text: String, _ declared: [QueryParameter]) -> (Input, [FieldError]) {
    var decoder = Decoder(allowsReadOnly: false)
    var input = Input()
    for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
        let parts = pair.split(
            separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = decodeForm(parts[0]),
            let value = parts.count > 1 ? decodeForm(parts[1]) : ""
        else {
            decoder.fail("?", .invalid, "is not well percent-encoded")
            continue
        }
        let pointer = "?" + name
        guard let parameter = declared.first(where: { $0.name.isSame(as: name) }) else {
            decoder.fail(pointer, .unknown, "is not a known query parameter")
            continue
        }
        guard !input.has(name) else {
            decoder.fail(pointer, .duplicate, "must stand once")
            continue
        }
        let json = parameter.kind.value(ofQuery: value)
        decoder.check(json, FieldShape(parameter.name, parameter.kind), at: pointer)
        input.members.append(JSONValue.Member(parameter.name, json))
    }
    for parameter in declared where parameter.isRequired && !input.has(parameter.name) {
        decoder.fail("?" + parameter.name, .required, "is required")
    }
    return (input, decoder.errors)
}

/// Percent-decoding with `+` for the space; nil for a bad escape, NUL, or text that is not UTF-8.
private func decodeForm(_ bytes: Substring.UTF8View.SubSequence) -> String? {
    var decoded: [UInt8] = []
    var rest = Array(bytes)[...]
    while let byte = rest.popFirst() {
        switch byte {
        case UInt8(ascii: "+"): decoded.append(0x20)
        case UInt8(ascii: "%"):
            guard
                let high = rest.popFirst().flatMap({ Character(UnicodeScalar($0)).hexDigitValue }),
                let low = rest.popFirst().flatMap({ Character(UnicodeScalar($0)).hexDigitValue }),
                high | low != 0
            else { return nil }
            decoded.append(UInt8(high << 4 | low))
        default: decoded.append(byte)
        }
    }
    return String(validating: decoded, as: UTF8.self)
}

extension Kind {
    /// Text of the query as the JSON that the kind is checked against.
    fileprivate func value(ofQuery text: String) -> JSONValue {
        switch self {
        case .integer:
            let bytes = text.utf8
            let digits = bytes.first == UInt8(ascii: "-") ? bytes.dropFirst() : bytes[...]
            let isNumber = !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
            return isNumber ? .number(text) : .string(text)
        case .bool:
            if text.isSame(as: "true") { return .bool(true) }
            return text.isSame(as: "false") ? .bool(false) : .string(text)
        case .array(let item, _):
            return .array(
                text.utf8.split(separator: UInt8(ascii: ",")).map {
                    item.value(ofQuery: String(decoding: $0, as: UTF8.self))
                })
        default:
            return .string(text)
        }
    }
}
