/// One setting that stops the start, and what to do about it. Never holds the value, which may be
/// a secret in the wrong place.
package struct SettingFault: Sendable, Equatable, CustomStringConvertible {
    package var name: String
    package var mend: String

    package var description: String { "\(name): \(mend)" }
}

/// All that is wrong, at once.
package struct SettingsFault: Error, Sendable, Equatable, CustomStringConvertible {
    package var faults: [SettingFault]

    package var description: String {
        faults.map(\.description).joined(separator: "\n")
    }
}
