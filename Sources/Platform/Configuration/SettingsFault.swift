/// One setting that stops the start, and what to do about it. Never holds the value, which may be
/// a secret in the wrong place.
package struct SettingFault: Sendable, Equatable, CustomStringConvertible {
    /// The environment variable at fault.
    package var name: String
    /// What the operator must do.
    package var mend: String

    /// One line for standard error.
    package var description: String { "\(name): \(mend)" }
}

/// All that is wrong, at once.
package struct SettingsFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// In the order in which the settings are read.
    package var faults: [SettingFault]

    /// One line for each fault.
    package var description: String {
        faults.map(\.description).joined(separator: "\n")
    }
}
