import API
import JSON

/// A value that a declaration refuses, and where the fault lies.
struct BadValue {
    var pointer: String
    var value: JSONValue

    func at(_ prefix: String, _ wrap: (JSONValue) -> JSONValue) -> BadValue {
        BadValue(pointer: prefix + pointer, value: wrap(value))
    }
}

extension Kind {
    /// Every way to miss the kind: another type, too long, too short, out of range.
    var badValues: [BadValue] {
        badTexts.map { BadValue(pointer: "", value: $0) } + deepBadValues
    }

    private var badTexts: [JSONValue] {
        switch self {
        case .string(let min, let max, _):
            let long = JSONValue.string(String(repeating: "x", count: max + 1))
            return [.number("7"), .array([]), long] + (min > 0 ? [.string("")] : [])
        case .email:
            return [.bool(true), .string("nobody"), .string(String(repeating: "x", count: 300))]
        case .uuid: return [.number("7"), .string("seven")]
        case .timestamp: return [.number("7"), .string("yesterday")]
        case .bool: return [.string("true"), .number("1")]
        case .integer(let range):
            var bad: [JSONValue] = [.string("1"), .number("1.5")]
            if range.lowerBound > Int.min { bad.append(.int(range.lowerBound - 1)) }
            if range.upperBound < Int.max { bad.append(.int(range.upperBound + 1)) }
            return bad
        case .enumeration: return [.number("7"), .string("no such name")]
        case .array(let item, let max):
            let many = [JSONValue](repeating: item.example(input: true), count: max + 1)
            return [.string("x"), .object([])] + (max <= 1000 ? [.array(many)] : [])
        case .object, .map, .attributes: return [.string("x"), .array([])]
        case .any: return []
        }
    }

    private var deepBadValues: [BadValue] {
        switch self {
        case .array(let item, _): item.badValues.map { $0.at("/0") { .array([$0]) } }
        case .map(let item):
            item.badValues.map { $0.at("/name") { .object([.init("name", $0)]) } }
        case .object(let shape): shape.badMembers(acceptsReadOnly: true)
        default: []
        }
    }
}

extension ObjectShape {
    /// Bodies with one fault each. `acceptsReadOnly`: PUT and PATCH may repeat what GET gave.
    func badBodies(acceptsReadOnly: Bool) -> [BadValue] {
        let whole = [JSONValue.array([]), .string("x")].map { BadValue(pointer: "", value: $0) }
        return whole + badMembers(acceptsReadOnly: acceptsReadOnly)
            + alternatives.flatMap { alternative in
                // Without its mark the body would be held to the first shape.
                alternative.shape.badMembers(acceptsReadOnly: acceptsReadOnly).filter {
                    $0.value[alternative.member] != nil
                }
            }
    }

    func badMembers(acceptsReadOnly: Bool) -> [BadValue] {
        let good = example(input: true).members ?? []
        func replacing(_ name: String, _ value: JSONValue?) -> JSONValue {
            .object(good.filter { $0.name != name } + (value.map { [.init(name, $0)] } ?? []))
        }
        var bad: [BadValue] = []
        if !isOpen {
            bad.append(BadValue(pointer: "/typo", value: replacing("typo", .bool(true))))
        }
        for field in fields {
            let place = "/" + field.name
            if field.isReadOnly {
                if !acceptsReadOnly {
                    bad.append(BadValue(pointer: place, value: replacing(field.name, .bool(true))))
                }
                continue
            }
            if field.isRequired {
                bad.append(BadValue(pointer: place, value: replacing(field.name, nil)))
            }
            if !field.isNullable, !field.kind.isAny {
                bad.append(BadValue(pointer: place, value: replacing(field.name, .null)))
            }
            bad += field.kind.badValues.map { $0.at(place) { replacing(field.name, $0) } }
        }
        return bad
    }
}

extension Kind {
    fileprivate var isAny: Bool { if case .any = self { true } else { false } }
}
