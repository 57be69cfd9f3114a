import Storage
import Text

/// Reads one entry of an allow list from a body.
struct CORSOriginInput {
    private(set) var errors: [FieldError] = []

    /// Nil if something is wrong; `errors` gets the faults. `path` is the object's JSON pointer.
    mutating func entry(_ input: Input, at path: String, expiresAfter now: Timestamp?)
        -> CORSOriginEntry?
    {
        let before = errors.count
        var origin: Origin?
        do throws(OriginFault) {
            origin = try Origin(
                configuring: DisplayText.stripped(input.optionalString("origin") ?? ""))
        } catch {
            let hidden = DisplayText.hidden(in: input.optionalString("origin") ?? "")
            let name = hidden.map { " It has \(DisplayText.name(of: $0))." } ?? ""
            errors.append(FieldError(path + "/origin", .invalid, error.reason + name))
        }
        let credentials = input.flag("credentials")
        if credentials, let origin, !origin.mayCarryCredentials {
            errors.append(
                FieldError(
                    path + "/credentials", .notAllowed,
                    "Cookies go with exact https origins, or http on this machine, only."))
        }
        let expiresAt = input.optionalTimestamp("expires_at")
        if let now, let expiresAt, expiresAt <= now {
            errors.append(FieldError(path + "/expires_at", .outOfRange, "must be in the future"))
        }
        guard let origin, errors.count == before else { return nil }
        return CORSOriginEntry(
            origin, credentials: credentials, label: input.optionalString("label"),
            expiresAt: expiresAt)
    }

    /// The entries of a whole list; each origin once.
    mutating func entries(_ inputs: [Input]) -> [CORSOriginEntry] {
        var seen: Set<String> = []
        var entries: [CORSOriginEntry] = []
        for (index, input) in inputs.enumerated() {
            let path = "/items/\(index)"
            guard let entry = entry(input, at: path, expiresAfter: nil) else { continue }
            if seen.insert(entry.origin.canonical).inserted {
                entries.append(entry)
            } else {
                errors.append(FieldError(path + "/origin", .duplicate, "is in the list twice"))
            }
        }
        return entries
    }

    static func unproved(_ path: String) -> Problem {
        .invalid([
            FieldError(
                path, .notAllowed,
                "A wildcard needs a verified domain of the tenant at or above it.")
        ])
    }
}
