/// One setting that prevents the start, and how to correct it. Never contains the value, which may
/// be a misplaced secret.
package struct SettingFault: Sendable, Equatable, CustomStringConvertible {
    /// The environment variable at fault.
    package var name: String
    /// What the operator must do.
    package var mend: String

    /// One line for standard error.
    package var description: String { "\(name): \(mend)" }
}

/// All faults at once.
package struct SettingsFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// In the order in which the settings are read.
    package var faults: [SettingFault]

    /// One line for each fault.
    package var description: String {
        faults.map(\.description).joined(separator: "\n")
    }
}
