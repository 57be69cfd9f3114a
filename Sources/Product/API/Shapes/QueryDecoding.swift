import JSON
import Text

/// Decodes `a=b&c=d` (application/x-www-form-urlencoded) by the declarations; every fault at once.
func decodeQuery(_ text: String, _ declared: [QueryParameter]) -> (Input, [FieldError]) {
    var decoder = Decoder(allowsReadOnly: false)
    var input = Input()
    for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
        let parts = pair.split(
            separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = PercentEncoding.decodeForm(parts[0]),
            let value = parts.count > 1 ? PercentEncoding.decodeForm(parts[1]) : ""
        else {
            decoder.fail("?", .invalid, "is not well percent-encoded")
            continue
        }
        let pointer = "?" + name
        guard let parameter = declared.first(where: { $0.covers(name) }) else {
            decoder.fail(pointer, .unknown, unknown(name, declared))
            continue
        }
        guard !input.has(name) else {
            decoder.fail(pointer, .duplicate, "must stand once")
            continue
        }
        let json = parameter.kind.normal(parameter.kind.value(ofQuery: value))
        decoder.check(json, FieldShape(parameter.name, parameter.kind), at: pointer)
        input.members.append(JSONValue.Member(name, json))
    }
    for parameter in declared where parameter.isRequired && !input.has(parameter.name) {
        decoder.fail("?" + parameter.name, .required, "is required")
    }
    return (input, decoder.errors)
}

/// Completes "?name …", with what serves the purpose here, if other interfaces' word for it is known.
private func unknown(_ name: String, _ declared: [QueryParameter]) -> String {
    let instead =
        switch name {
        case "page", "offset", "starting_after", "after": "cursor"
        case "per_page", "page_size", "size", "count": "limit"
        case "search", "query", "filter": "q"
        case "order", "order_by", "sort_by", "orderby": "sort"
        default: ""
        }
    if declared.contains(where: { sameBytes($0.name, instead) }) {
        let hint = sameBytes(instead, "cursor") ? ", with `next_cursor` of the answer before" : ""
        return "is not a known query parameter; use `\(instead)`\(hint)"
    }
    if sameBytes(name, "format") {
        return
            "is not a known query parameter; ask by `Accept: text/csv` where an export is offered"
    }
    return "is not a known query parameter"
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
            if sameBytes(text, "true") { return .bool(true) }
            return sameBytes(text, "false") ? .bool(false) : .string(text)
        case .array(let item, _):
            // An empty item is checked as one: left out, `status=` would filter by no status at all.
            let items = text.utf8.split(
                separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            return .array(items.map { item.value(ofQuery: String(decoding: $0, as: UTF8.self)) })
        default:
            return .string(text)
        }
    }
}
