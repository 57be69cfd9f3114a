import CBuild

/// The version of this program.
package enum Version {
    package static let current = "1.0.0-rc.1"

    /// The version. In a packed program, the commit and its date follow.
    static let full: String = {
        let commit = String(cString: build_commit())
        return commit.isEmpty ? current : "\(current) (\(commit))"
    }()
}
