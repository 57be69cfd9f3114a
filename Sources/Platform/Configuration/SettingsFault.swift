/// One setting that prevents the start, and how to correct it. Never contains the value, which may
/// be a misplaced secret.
package struct SettingFault: Sendable, Equatable, CustomStringConvertible {
    package var name: String
    package var mend: String

    package var description: String { "\(name): \(mend)" }
}

/// All faults at once.
package struct SettingsFault: Error, Sendable, Equatable, CustomStringConvertible {
    package var faults: [SettingFault]

    package var description: String { faults.map(\.description).joined(separator: "\n") }
}
