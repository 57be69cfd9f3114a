import JSON
import Text

/// Why attributes are refused.
package struct AttributeFault: Sendable, Equatable {
    /// As the codes of fields in `/v1`.
    package enum Kind: String, Sendable {
        case required, invalid
        case wrongType = "wrong_type"
        case tooLong = "too_long"
        case notAllowed = "not_allowed"
    }

    /// `public_attributes` or `private_attributes`; empty: as the caller knows.
    package var object = ""
    /// The attribute; nil: all together.
    package var name: String?
    package var kind: Kind
    /// Completes the sentence "the member …".
    package var detail: String

    init(_ name: String?, _ kind: Kind, _ detail: String) {
        self.name = name
        self.kind = kind
        self.detail = detail
    }

    func of(_ object: String) -> AttributeFault {
        var fault = self
        fault.object = object
        return fault
    }
}

/// Attributes that a write would leave beyond a limit or the tenant's schema; nothing is written.
package struct AttributeFaults: Error, Sendable {
    package let faults: [AttributeFault]

    init(_ faults: [AttributeFault]) { self.faults = faults }
}

/// The limits of the public and of the private attributes, each for itself.
extension Attributes {
    /// Bytes of the text without white space; of a change too.
    package static let byteLimit = 16_384
    /// Attributes of one object.
    package static let countLimit = 64
    /// Bytes of a name.
    package static let nameLimit = 64
    /// Levels of objects and arrays, the outermost counted.
    package static let depthLimit = 5

    /// ECMA-262.
    package static let namePattern = "^[A-Za-z0-9_.-]{1,64}$"

    package static func isName(_ name: String) -> Bool {
        (1...nameLimit).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
                default: false
                }
            }
    }

    /// What is wrong with members that a write gives, a null among them or not.
    package static func faults(inChange members: [JSONValue.Member]) -> [AttributeFault] {
        var faults: [AttributeFault] = []
        for member in members {
            if !isName(member.name) {
                faults.append(
                    AttributeFault(
                        member.name, .invalid,
                        "must be a name of 1 to 64 letters, digits, `_`, `.` and `-`"))
            } else if depth(of: member.value) >= depthLimit {
                faults.append(
                    AttributeFault(
                        member.name, .tooLong, "must be nested at most \(depthLimit) deep"))
            }
        }
        if faults.isEmpty, JSONValue.object(members).encoded().count > byteLimit {
            faults.append(AttributeFault(nil, .tooLong, "must have at most \(byteLimit) bytes"))
        }
        return faults
    }

    /// What is beyond a limit after a change; the change itself has no fault.
    func faults() -> [AttributeFault] {
        var faults: [AttributeFault] = []
        if text.utf8.count > Self.byteLimit {
            faults.append(
                AttributeFault(nil, .tooLong, "must have at most \(Self.byteLimit) bytes"))
        }
        if members.count > Self.countLimit {
            faults.append(
                AttributeFault(nil, .tooLong, "must have at most \(Self.countLimit) members"))
        }
        return faults
    }

    private static func depth(of value: JSONValue) -> Int {
        switch value {
        case .array(let items): 1 + (items.map(depth).max() ?? 0)
        case .object(let members): 1 + (members.map { depth(of: $0.value) }.max() ?? 0)
        default: 0
        }
    }
}

extension AttributePair {
    /// Throws `AttributeFaults`.
    func requireWithinLimits() throws {
        let faults = faults()
        if !faults.isEmpty { throw AttributeFaults(faults) }
    }

    func faults() -> [AttributeFault] {
        `public`.faults().map { $0.of("public_attributes") }
            + `private`.faults().map { $0.of("private_attributes") }
    }
}
